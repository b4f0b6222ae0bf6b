<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Codec;

/**
 * Generates decoders for rows of known formats, as files in a directory: one per shape.
 *
 * They are files because opcache, and so the JIT, takes code from files only; evaluated code is slower than
 * the generic decoder. A row or a field with other bytes than the format promises is left to the generic decoder.
 */
final class RowCompiler
{
    private const MAX_FIELDS = 15;

    /** @var array<string, \Closure> */
    private array $decoders = [];

    /**
     * Creates a compiler that keeps its files in a directory, which is made if it does not exist.
     *
     * @throws \RuntimeException if the directory cannot be made, or others may write to it
     */
    public function __construct(private readonly string $directory)
    {
        if (!is_dir($directory) && !@mkdir($directory, 0700, true) && !is_dir($directory)) {
            throw new \RuntimeException(sprintf('The directory "%s" cannot be made', $directory));
        }
        if ((fileperms($directory) & 0022) !== 0) {
            throw new \RuntimeException(sprintf('Others may write to "%s": no code is loaded from there', $directory));
        }
    }

    /**
     * Gives a format its decoder; a format that is too wide to unroll stays without.
     *
     * The decoder, fn(buffer, offset, end, count, generic decoder), returns the rows and throws a ProtocolError
     * if they do not end where they should.
     *
     * @throws \RuntimeException if the file cannot be written
     */
    public function compile(RowFormat $format): void
    {
        $fields = \strlen($format->shape);
        if ($fields > 0 && $fields <= self::MAX_FIELDS) {
            $format->decoder = $this->decoders[$format->shape] ??= $this->load($format->shape);
        }
    }

    private function load(string $shape): \Closure
    {
        $file = $this->directory . '/rows-' . $shape . '.php';
        $source = "<?php\n\n" . self::source($shape) . "\n";
        if (!is_file($file) || file_get_contents($file) !== $source) {
            $temporary = @tempnam($this->directory, 'rows');
            if (
                $temporary === false || file_put_contents($temporary, $source) !== strlen($source)
                || !rename($temporary, $file)
            ) {
                throw new \RuntimeException(sprintf('The file "%s" cannot be written', $file));
            }
        }

        return include $file;
    }

    private static function source(string $shape): string
    {
        $code = '';
        $values = [];
        foreach (\str_split($shape) as $i => $kind) {
            $values[] = "\$v$i";
            $code .= match ($kind) {
                'u' => self::integerField("\$v$i"),
                's' => self::stringField("\$v$i"),
                default => self::otherField("\$v$i"),
            };
        }

        return \sprintf(
            'return static function (string $b, int $o, int $end, int $n, $d): array {
                $rows = [];
                for (; $n > 0; --$n) {
                    if ($o >= $end || $b[$o] !== "\x%02x") { %s $rows[] = $v; continue; }
                    ++$o;
                    %s
                    $rows[] = [%s];
                }
                if ($o !== $end) { throw new \Phpdyno\Tarantool\Exception\ProtocolError("Bytes follow the rows"); }
                return $rows;
            };',
            0x90 | \strlen($shape),
            self::otherField('$v'),
            $code,
            \implode(', ', $values),
        );
    }

    private static function integerField(string $v): string
    {
        return '$c = \ord($b[$o] ?? "\xc1");
            if ($c < 0x80 && $o < $end) { ' . $v . ' = $c; ++$o; }
            elseif ($c === 0xcd && $o + 3 <= $end) {
                ' . $v . ' = (\ord($b[$o + 1]) << 8) | \ord($b[$o + 2]); $o += 3;
            } elseif ($c === 0xce && $o + 5 <= $end) { ' . $v . ' = \unpack("N", $b, $o + 1)[1]; $o += 5; }
            else { ' . self::otherField($v) . ' }
        ';
    }

    private static function stringField(string $v): string
    {
        return '$l = \ord($b[$o] ?? "\xc1") - 0xa0;
            if ($l >= 0 && $l < 32 && $o + 1 + $l <= $end) { ' . $v . ' = \substr($b, $o + 1, $l); $o += 1 + $l; }
            else { ' . self::otherField($v) . ' }
        ';
    }

    private static function otherField(string $v): string
    {
        return '$d->reset($b, $o, $end); ' . $v . ' = $d->value(1); $o = $d->offset();';
    }
}
