-- A server for the tests: listens where the first argument says, and ends when its standard input does.
local listen, user = arg[1], arg[2]
box.cfg{
    listen = listen, username = user, wal_mode = 'none', log_level = 1, log = 'server.log', memtx_memory = 128 * 1024 * 1024,
    memtx_max_tuple_size = 32 * 1024 * 1024,
}
local function items(name)
    local space = box.schema.space.create(name, {
        format = {{'id', 'unsigned'}, {'name', 'string'}}, if_not_exists = true,
    })
    box.schema.sequence.create(name .. '_ids', {if_not_exists = true})
    space:create_index('primary', {sequence = name .. '_ids', if_not_exists = true})
    space:create_index('by_name', {parts = {2, 'string'}, unique = false, if_not_exists = true})
end
items('items')
for i = 1, 1000 do box.space.items:replace{i, 'tuple_' .. i} end
items('scratch')
local anything = box.schema.space.create('anything')
anything:create_index('primary', {parts = {1, 'scalar'}})
box.schema.user.grant('guest', 'super')
box.schema.user.create('alice', {password = 'secret'})
box.schema.user.grant('alice', 'super')
box.schema.user.create('bob', {password = 'hidden'})
box.schema.user.grant('bob', 'super')
function slow(seconds, value) require('fiber').sleep(seconds) return value end
function same(...) return ... end
function push_three() for i = 1, 3 do box.session.push(i) end return 'end' end
require('fiber').create(function()
    while true do
        require('socket').iowait(0, 'R')
        if io.read(1) == nil then os.exit(0) end
    end
end)
print('ready')
io.stdout:flush()
