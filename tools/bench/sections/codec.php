<?php
// Times packing a select and decoding its answer, the reference's tuple, by our codec and by the packer of tarantool-php/client (rybakit/msgpack).
//
//   php codec.php LOADER PACKAGE CACHE   -> JSON: for each block the nanoseconds of theirs, of ours in their interface, and of ours alone
declare(strict_types=1);

use Phpdyno\Tarantool\Bridge\TarantoolPhp\CodecPacker;
use Phpdyno\Tarantool\Codec\PureCodec;
use Phpdyno\Tarantool\Codec\RowCompiler;
use Phpdyno\Tarantool\Codec\RowFormat;
use Phpdyno\Tarantool\Protocol\AnswerKind;
use Phpdyno\Tarantool\Protocol\Operation;
use Phpdyno\Tarantool\Protocol\SelectBody;
use Phpdyno\Tarantool\IteratorType;
use Phpdyno\Tarantool\Request;
use Phpdyno\Tarantool\Transport\Outbox;
use Tarantool\Client\Packer\PurePacker;
use Tarantool\Client\Request\SelectRequest;

[, $loader, $package, $cache] = $argv;
require $loader;
spl_autoload_register(static function (string $class) use ($package): void {
    $file = $package . '/' . strtr(substr($class, 18), '\\', '/') . '.php';
    if (str_starts_with($class, 'Phpdyno\\Tarantool\\') && is_file($file)) {
        require $file;
    }
});

const BLOCKS = 400;
const OPERATIONS = 500;

/** Header and body as the server sends them, without the length. */
function answer(int $key): string
{
    return "\x83\x00\xce\0\0\0\0\x01\xcf" . pack('J', $key) . "\x05\xce" . pack('N', 80) . "\x81\x30\xdd\0\0\0\x01\x92\xcd" . pack('n', $key)
        . chr(0xa0 | strlen("tuple_$key")) . "tuple_$key";
}

/** @param list<SelectRequest> $requests made before: what is timed is packing and unpacking */
function theirs(object $packer, array $requests, array $keys, array $answers): void
{
    foreach ($keys as $at => $key) {
        $frame = $packer->pack($requests[$at], $key);
        $rows = $packer->unpack($answers[$at]);
    }
}

/** As RequestFactory::select() and Outbox::add() make a frame from its template, and as Inbox has the rows of a usual answer decoded. */
function ours(PureCodec $codec, Operation $operation, string $prefix, array $keys, array $answers): void
{
    foreach ($keys as $at => $key) {
        $body = $prefix . ($key >= 0x100 && $key < 0x10000 ? pack('nn', 0x91cd, $key) : $codec->encodeList([$key]));
        $frame = "\xce\0\0\0" . chr(strlen($body) + 9) . $operation->header . pack('N', $key) . $body;
        $rows = $codec->decodeRows($answers[$at], 30, strlen($answers[$at]), 1, $operation->format);
    }
}

/** Throws where the two do not send and find the same. */
function check(PureCodec $codec, Operation $operation, string $prefix, SelectRequest $request, int $key, string $answer): void
{
    $outbox = new Outbox(1);
    (new ReflectionProperty($outbox, 'sync'))->setValue($outbox, $key - 1);
    $outbox->add(new Request($operation, $prefix . $codec->encodeList([$key])));
    $sent = (new ReflectionProperty($outbox, 'bytes'))->getValue($outbox);
    $packer = new PurePacker();
    // They send the keys of a body in another order: the server reads the same.
    $same = MessagePack\BufferUnpacker::class;
    $read = static function (string $frame) use ($same): array {
        $unpacker = new $same($frame);
        [, $header, $body] = [$unpacker->unpack(), $unpacker->unpack(), $unpacker->unpack()];
        ksort($body);
        return [$header, $body];
    };
    $rows = $codec->decodeRows($answer, 30, strlen($answer), 1, $operation->format);
    if ($read($sent) !== $read($packer->pack($request, $key)) || $rows !== $packer->unpack($answer)->getBodyField(0x30)) {
        throw new LogicException('they differ');
    }
}

$keys = range(1000, 999 + OPERATIONS);
$answers = array_map(answer(...), $keys);
$format = new RowFormat(['id', 'name'], ['unsigned', 'string']);
(new RowCompiler($cache))->compile($format);
$operation = new Operation(1, AnswerKind::Rows, true, false, $format);
$prefix = SelectBody::prefix(555, 0, 0xffffffff, 0, IteratorType::Eq);
$requests = array_map(static fn (int $key) => new SelectRequest(555, 0, [$key], 0, 0xffffffff, 0), $keys);
$codec = new PureCodec();
foreach ($keys as $at => $key) {
    check($codec, $operation, $prefix, $requests[$at], $key, $answers[$at]);
}
$ways = [
    static fn () => theirs(new PurePacker(), $requests, $keys, $answers),
    static fn () => theirs(new CodecPacker(), $requests, $keys, $answers),
    static fn () => ours($codec, $operation, $prefix, $keys, $answers),
];
$told = [];
for ($block = -BLOCKS / 4; $block < BLOCKS; $block++) {
    $times = [];
    $order = array_keys($ways);
    shuffle($order);
    foreach ($order as $way) {
        $began = hrtime(true);
        $ways[$way]();
        $times[$way] = (hrtime(true) - $began) / OPERATIONS;
    }
    if ($block >= 0) {
        ksort($times);
        $told[] = $times;
    }
}
echo json_encode($told);
