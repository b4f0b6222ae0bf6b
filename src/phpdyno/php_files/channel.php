<?php
// Messages between phpdyno and a process that it starts: the length (uint32, little-endian) and so many bytes.
declare(strict_types=1);

namespace Phpdyno;

/** Exactly `$count` bytes, null at the end of the stream. */
function read($stream, int $count): ?string
{
    $data = '';
    while (\strlen($data) < $count) {
        $part = @\fread($stream, $count - \strlen($data));
        if ($part === false || ($part === '' && \feof($stream))) {
            return null;
        }
        $data .= $part;
    }
    return $data;
}

/** The next message, null at the end of the stream. */
function receive($stream): ?string
{
    $length = read($stream, 4);
    return $length === null ? null : read($stream, \unpack('V', $length)[1]);
}

function send($stream, string $message): void
{
    $data = \pack('V', \strlen($message)) . $message;
    while ($data !== '') {
        $written = @\fwrite($stream, $data);
        if ($written === false || $written === 0) {
            throw new \RuntimeException('nobody reads it');
        }
        $data = \substr($data, $written);
    }
}
