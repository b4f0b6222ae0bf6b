<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Value;

use Phpdyno\Tarantool\Codec\Decoder;
use Phpdyno\Tarantool\Codec\Encoder;
use Phpdyno\Tarantool\Exception\ProtocolError;

/**
 * An error object of the server that was returned as a value: an error and its causes.
 */
final class ErrorStack implements Extension
{
    public const TYPE = 3;

    /**
     * Creates the value.
     *
     * @param list<ErrorInfo> $errors outermost first
     */
    public function __construct(public readonly array $errors)
    {
    }

    /**
     * Creates the value from the bytes of the extension.
     *
     * @throws ProtocolError if the bytes are malformed
     */
    public static function fromData(string $data): self
    {
        $decoder = new Decoder($data);
        $map = $decoder->value();
        if ($decoder->offset() !== strlen($data)) {
            throw new ProtocolError('Malformed error: wrong length');
        }

        return self::fromMap($map);
    }

    /**
     * Creates the value from the decoded map: {0: [{0: type, 1: file, 2: line, 3: message, 4: errno, 5: code}]}.
     *
     * @throws ProtocolError if it is no such map
     */
    public static function fromMap(mixed $map): self
    {
        $errors = [];
        $stack = is_array($map) ? $map[0] ?? [] : null;
        foreach (is_array($stack) ? $stack : [null] as $error) {
            if (!is_array($error)) {
                throw new ProtocolError('Malformed error: no stack of maps');
            }
            $fields = $error[6] ?? [];
            $errors[] = new ErrorInfo(
                self::text($error[0] ?? ''),
                self::text($error[3] ?? ''),
                self::number($error[5] ?? 0),
                self::number($error[4] ?? 0),
                self::text($error[1] ?? ''),
                self::number($error[2] ?? 0),
                is_array($fields) ? $fields : [],
            );
        }

        return new self($errors);
    }

    public function extensionType(): int
    {
        return self::TYPE;
    }

    public function extensionData(): string
    {
        $data = "\x81\x00" . Encoder::listHeader(count($this->errors));
        foreach ($this->errors as $e) {
            $map = [0 => $e->type, 1 => $e->file, 2 => $e->line, 3 => $e->message, 4 => $e->errno, 5 => $e->code];
            $data .= Encoder::map($e->fields === [] ? $map : $map + [6 => $e->fields]);
        }

        return $data;
    }

    public function __toString(): string
    {
        return implode("\ncaused by ", $this->errors);
    }

    private static function text(mixed $value): string
    {
        return is_string($value) ? $value : throw new ProtocolError('Malformed error: a text is no string');
    }

    private static function number(mixed $value): int
    {
        return is_int($value) ? $value : throw new ProtocolError('Malformed error: a number is no integer');
    }
}
