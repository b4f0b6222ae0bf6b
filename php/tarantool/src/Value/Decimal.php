<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Value;

use Phpdyno\Tarantool\Exception\ProtocolError;

/**
 * An exact decimal number, held as digits and a scale.
 */
final class Decimal implements Extension
{
    public const TYPE = 1;

    /**
     * @param string $digits the digits without sign and point, no leading zeros except for "0"
     */
    private function __construct(
        private readonly bool $negative,
        private readonly string $digits,
        private readonly int $scale,
    ) {
    }

    /**
     * Creates a decimal from a string like "-12.50" or "3e2".
     *
     * @throws \InvalidArgumentException if the string is no number, or has too many digits
     */
    public static function fromString(string $number): self
    {
        if (!preg_match('/^([+-]?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/D', $number, $m)) {
            throw new \InvalidArgumentException(sprintf('"%s" is no decimal number', $number));
        }
        $digits = ltrim($m[2] . ($m[3] ?? ''), '0');
        $scale = strlen($m[3] ?? '') - (int) ($m[4] ?? 0);
        if (strlen($digits) > 38 || $scale < -128 || $scale > 255) {
            throw new \InvalidArgumentException('A decimal has 38 digits and a scale from -128 to 255 at most');
        }

        return new self($m[1] === '-' && $digits !== '', $digits === '' ? '0' : $digits, $scale);
    }

    /**
     * Creates a decimal from the bytes of the extension: scale, then packed decimal digits.
     *
     * @throws ProtocolError if the bytes are malformed
     */
    public static function fromData(string $data): self
    {
        $length = strlen($data);
        $first = $length > 0 ? ord($data[0]) : 0xc1;
        [$scale, $start] = match (true) {
            $first < 0x80 => [$first, 1],
            $first >= 0xe0 => [$first - 256, 1],
            $first === 0xcc && $length > 1 => [ord($data[1]), 2],
            $first === 0xd0 && $length > 1 => [unpack('c', $data, 1)[1], 2],
            default => throw new ProtocolError('Malformed decimal: bad scale'),
        };
        if (!preg_match('/^(\d+)([a-f])$/D', bin2hex(substr($data, $start)), $m)) {
            throw new ProtocolError('Malformed decimal: bad digits');
        }
        $digits = ltrim($m[1], '0');

        return new self($m[2] === 'b' || $m[2] === 'd', $digits === '' ? '0' : $digits, $scale);
    }

    public function extensionType(): int
    {
        return self::TYPE;
    }

    public function extensionData(): string
    {
        $packed = $this->digits . ($this->negative ? 'd' : 'c');
        $scale = match (true) {
            $this->scale >= -32 && $this->scale < 128 => chr($this->scale & 0xff),
            $this->scale >= 128 => "\xcc" . chr($this->scale),
            default => "\xd0" . pack('c', $this->scale),
        };

        return $scale . hex2bin(strlen($packed) % 2 === 1 ? '0' . $packed : $packed);
    }

    public function __toString(): string
    {
        $digits = $this->scale < 0 && $this->digits !== '0'
            ? $this->digits . str_repeat('0', -$this->scale)
            : $this->digits;
        if ($this->scale > 0) {
            $digits = str_pad($digits, $this->scale + 1, '0', STR_PAD_LEFT);
            $digits = substr($digits, 0, -$this->scale) . '.' . substr($digits, -$this->scale);
        }

        return ($this->negative ? '-' : '') . $digits;
    }
}
