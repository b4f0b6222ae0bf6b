<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Value;

use Phpdyno\Tarantool\Exception\ProtocolError;

/**
 * A point in time with nanoseconds and an offset from UTC in minutes (Tarantool 2.10 and later).
 */
final class DateTime implements Extension
{
    public const TYPE = 4;

    /**
     * Creates the value.
     *
     * @param int $seconds       seconds since 1970-01-01 00:00:00 UTC
     * @param int $nanoseconds   0 to 999,999,999
     * @param int $offsetMinutes local time minus UTC, in minutes
     * @param int $zoneIndex     Tarantool's number of the time zone's name; 0 means none
     * @throws \InvalidArgumentException if a part is out of its range
     */
    public function __construct(
        public readonly int $seconds,
        public readonly int $nanoseconds = 0,
        public readonly int $offsetMinutes = 0,
        public readonly int $zoneIndex = 0,
    ) {
        if (
            $nanoseconds < 0 || $nanoseconds > 999_999_999
            || abs($offsetMinutes) > 0x7fff || abs($zoneIndex) > 0x7fff
        ) {
            throw new \InvalidArgumentException('A part of the datetime is out of its range');
        }
    }

    /**
     * Creates the value from a PHP date; microseconds and the offset are kept, a zone's name is not.
     */
    public static function fromNative(\DateTimeInterface $date): self
    {
        $offset = intdiv($date->getOffset(), 60);

        return new self($date->getTimestamp(), (int) $date->format('u') * 1000, $offset);
    }

    /**
     * Creates the value from the 8 or 16 bytes of the extension.
     *
     * @throws ProtocolError if the bytes are malformed
     */
    public static function fromData(string $data): self
    {
        $length = strlen($data);
        if ($length !== 8 && $length !== 16) {
            throw new ProtocolError('Malformed datetime: it must have 8 or 16 bytes');
        }
        $seconds = unpack('P', $data)[1];
        if ($length === 8) {
            return new self($seconds);
        }
        $tail = unpack('Vnanoseconds/voffset/vzone', $data, 8);
        if ($tail['nanoseconds'] > 999_999_999 || $tail['offset'] === 0x8000 || $tail['zone'] === 0x8000) {
            throw new ProtocolError('Malformed datetime: a part is out of its range');
        }

        return new self($seconds, $tail['nanoseconds'], self::signed($tail['offset']), self::signed($tail['zone']));
    }

    /**
     * Returns the value as a PHP date; what is finer than a microsecond is cut off.
     */
    public function toNative(): \DateTimeImmutable
    {
        return (new \DateTimeImmutable('@' . $this->seconds))
            ->setTimezone(new \DateTimeZone($this->offset()))
            ->modify(sprintf('+%d microsecond', intdiv($this->nanoseconds, 1000)));
    }

    public function extensionType(): int
    {
        return self::TYPE;
    }

    public function extensionData(): string
    {
        $seconds = pack('P', $this->seconds);
        if ($this->nanoseconds === 0 && $this->offsetMinutes === 0 && $this->zoneIndex === 0) {
            return $seconds;
        }

        return $seconds . pack('Vvv', $this->nanoseconds, $this->offsetMinutes & 0xffff, $this->zoneIndex & 0xffff);
    }

    public function __toString(): string
    {
        $local = new \DateTimeImmutable('@' . ($this->seconds + 60 * $this->offsetMinutes));
        $fraction = $this->nanoseconds === 0 ? '' : rtrim(sprintf('.%09d', $this->nanoseconds), '0');

        return $local->format('Y-m-d\TH:i:s') . $fraction . ($this->offsetMinutes === 0 ? 'Z' : $this->offset());
    }

    private function offset(): string
    {
        $minutes = abs($this->offsetMinutes);

        return sprintf('%s%02d:%02d', $this->offsetMinutes < 0 ? '-' : '+', intdiv($minutes, 60), $minutes % 60);
    }

    private static function signed(int $word): int
    {
        return $word >= 0x8000 ? $word - 0x10000 : $word;
    }
}
