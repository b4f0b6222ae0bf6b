<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Tests\Unit;

use Phpdyno\Tarantool\Codec\Encoder;
use Phpdyno\Tarantool\Codec\ExtensionCodec;
use Phpdyno\Tarantool\Codec\LazyRows;
use Phpdyno\Tarantool\Codec\PureCodec;
use Phpdyno\Tarantool\Codec\RowCompiler;
use Phpdyno\Tarantool\Codec\RowFormat;
use Phpdyno\Tarantool\Exception\ProtocolError;
use Phpdyno\Tarantool\Tests\Support\TestCase;
use Phpdyno\Tarantool\Value;

final class CodecTest extends TestCase
{
    private const ROWS = [
        [1, 'a'], [200, 'b'], [40000, 'c'], [70000, ''], [-5, 'd'], [5000000000, 'e'], ['text', 7], [1], [1, 'x', 2],
        [null, null], [1, [1, 2]], [300, 1.5], [],
    ];

    private string $directory = '';

    protected function tearDown(): void
    {
        parent::tearDown();
        if ($this->directory !== '') {
            array_map(unlink(...), glob($this->directory . '/*'));
            rmdir($this->directory);
        }
    }

    public function testACompiledDecoderGivesWhatTheGenericOneGives(): void
    {
        $codec = new PureCodec();
        $rows = [...self::ROWS, [7, str_repeat('long ', 100)], [1, Value\Decimal::fromString('1.5')]];
        foreach ([['unsigned', 'string'], ['any', 'integer'], ['string'], ['unsigned', 'string', 'map']] as $types) {
            $format = $this->format($types);
            self::assertNotNull($format->decoder);
            foreach ($rows as $row) {
                $bytes = Encoder::list($row);
                self::assertEquals([$row], $codec->decodeRows('..' . $bytes, 2, 2 + strlen($bytes), 1, $format));
            }
            $all = implode('', array_map(Encoder::list(...), $rows));
            self::assertEquals($rows, $codec->decodeRows($all, 0, strlen($all), count($rows), $format));
        }
    }

    public function testACompiledDecoderRefusesMalformedRows(): void
    {
        $codec = new PureCodec();
        $format = $this->format(['unsigned', 'string']);
        $whole = Encoder::list([40000, 'hello']);
        for ($length = 0; $length < strlen($whole); ++$length) {
            foreach ([substr($whole, 0, $length), substr($whole, 0, min(5, $length)) . "\xc1"] as $bytes) {
                self::thrown(
                    ProtocolError::class,
                    static fn () => $codec->decodeRows($bytes, 0, strlen($bytes), 1, $format),
                );
            }
            // The same bytes, with more of the buffer behind their end.
            self::thrown(ProtocolError::class, static fn () => $codec->decodeRows($whole, 0, $length, 1, $format));
        }
        self::thrown(ProtocolError::class, static fn () => $codec->decodeRows("$whole.", 0, 11, 1, $format));
    }

    public function testNoCodeIsLoadedFromADirectoryThatOthersMayWriteTo(): void
    {
        $this->format(['unsigned']);
        chmod($this->directory, 0777);
        $directory = $this->directory;
        self::thrown(\RuntimeException::class, static fn () => new RowCompiler($directory));
        self::thrown(\RuntimeException::class, static fn () => new RowCompiler('/proc/none'));
    }

    public function testAChangedFileIsReplaced(): void
    {
        $this->format(['unsigned', 'string']);
        $file = $this->directory . '/rows-us.php';
        file_put_contents($file, '<?php throw new Exception("not ours");');
        $format = $this->format(['unsigned', 'string']);
        self::assertSame([[1, 'a']], (new PureCodec())->decodeRows("\x92\x01\xa1a", 0, 4, 1, $format));
    }

    public function testTheExtensionGivesWhatPhpGives(): void
    {
        if (!extension_loaded('msgpack')) {
            self::markTestSkipped('The msgpack extension is not loaded');
        }
        $pure = new PureCodec();
        $extension = new ExtensionCodec();
        $rows = [...self::ROWS, [['a' => 1, 'b' => [true, false, null]]], [Value\Uuid::fromString(str_repeat('0', 8)
            . '-0000-0000-0000-' . str_repeat('0', 12))], [Value\UnsignedInteger::fromBits(-1)], [false],
            [new Value\Pairs([[1.5, 1], [null, 2]])], [new Value\UnknownExtension(77, 'abc')]];
        foreach ($rows as $row) {
            self::assertSame(bin2hex($pure->encodeList($row)), bin2hex($extension->encodeList($row)));
            $bytes = $pure->encodeList($row);
            $length = strlen($bytes);
            self::assertEquals([$row], $extension->decodeRows($bytes, 0, $length, 1, null));
            $many = str_repeat($bytes, 300);
            self::assertEquals(
                array_fill(0, 300, $row),
                $extension->decodeRows('..' . $many, 2, 2 + strlen($many), 300, null),
            );
            foreach ([[$many, 299], [$many, 301], ["$many\x01", 300], [substr($many, 0, -1), 300]] as [$bad, $count]) {
                self::thrown(
                    ProtocolError::class,
                    static fn () => $extension->decodeRows($bad, 0, strlen($bad), $count, null),
                );
            }
            self::assertEquals($row, $extension->decode($bytes, 0, $length));
            self::thrown(ProtocolError::class, static fn () => $extension->decodeRows($bytes, 0, $length, 2, null));
            self::thrown(
                ProtocolError::class,
                static fn () => $extension->decodeRows("$bytes\x01", 0, $length + 1, 1, null),
            );
        }
    }

    public function testLazyRowsAreDecodedUponAccess(): void
    {
        $rows = new LazyRows("\x91\x01\x91\x02\xc1", 3);
        self::assertCount(3, $rows);
        self::assertSame([2], $rows[1]);
        self::assertSame([1], $rows[0]);
        self::assertTrue(isset($rows[2]));
        self::assertFalse(isset($rows[3]));
        self::thrown(ProtocolError::class, static fn () => $rows[2]);
        self::thrown(\OutOfBoundsException::class, static fn () => $rows[3]);
        self::thrown(\LogicException::class, static function () use ($rows): void {
            $rows[0] = 1;
        });
        self::thrown(ProtocolError::class, static fn () => new LazyRows("\x01", 2));
        self::assertSame([[5], [6]], iterator_to_array(new LazyRows("\x91\x05\x91\x06", 2)));
    }

    private function format(array $types): RowFormat
    {
        if ($this->directory === '') {
            $this->directory = sys_get_temp_dir() . '/rows-' . bin2hex(random_bytes(6));
        }
        $format = new RowFormat(array_map(strval(...), array_keys($types)), $types);
        (new RowCompiler($this->directory))->compile($format);

        return $format;
    }
}
