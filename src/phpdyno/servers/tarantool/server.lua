-- A Tarantool with the space of the reference: `items`, id 555, {id unsigned, name string}, a tree index with a sequence, so many tuples
-- {id, 'tuple_' .. id}. Everybody may do everything: nobody else reaches it. The environment says how; nothing is written to a disk.
local number = function(name) return tonumber(os.getenv(name)) end
local folder = os.getenv('PHPDYNO_FOLDER')

box.cfg{
    listen = os.getenv('PHPDYNO_LISTEN'),
    wal_mode = os.getenv('PHPDYNO_WAL_MODE'),
    readahead = number('PHPDYNO_READAHEAD'),
    memtx_memory = number('PHPDYNO_MEMORY'),
    memtx_dir = folder, vinyl_dir = folder, wal_dir = folder, work_dir = folder,
    checkpoint_interval = 0,
    log_level = 4, -- warnings
}

local space = box.schema.space.create('items', {id = 555, format = {{name = 'id', type = 'unsigned'}, {name = 'name', type = 'string'}}})
box.schema.sequence.create('items_id')
space:create_index('primary', {type = 'tree', parts = {1, 'unsigned'}, sequence = 'items_id'})
box.schema.user.grant('guest', 'read,write,execute,create,drop,alter', 'universe')
box.schema.user.create('lab', {password = 'lab'})
box.schema.user.grant('lab', 'read,write,execute,create,drop,alter', 'universe')

-- Fills the space anew: every tuple from 1 to `count`, and no other. (Truncating it is a change of the schema: 2.6.0 aborts when a
-- statement that was prepared before is executed then.)
function phpdyno_fill(count)
    local further = space:select(count, {iterator = 'GT'})
    box.begin()
    for _, tuple in ipairs(further) do space:delete(tuple[1]) end
    for id = 1, count do space:replace{id, 'tuple_' .. id} end
    box.commit()
    box.sequence.items_id:set(count)
    return space:len()
end

-- Where it listens from now on; connections that are there stay.
function phpdyno_listen(uri)
    box.cfg{listen = uri}
    return box.cfg.listen
end

phpdyno_fill(number('PHPDYNO_TUPLES'))
-- As in the reference: Lua's collector does not run while it is measured.
if os.getenv('PHPDYNO_COLLECT') ~= 'yes' then collectgarbage('stop') end
