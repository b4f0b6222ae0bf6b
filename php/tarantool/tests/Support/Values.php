<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Tests\Support;

use Phpdyno\Tarantool\Value;

/**
 * Makes random values from a seed.
 */
final class Values
{
    private \Closure $random;

    public function __construct(int $seed)
    {
        mt_srand($seed);
        $this->random = mt_rand(...);
    }

    /** Returns an integer; all lengths are about equally likely. */
    public function integer(): int
    {
        $bits = ($this->random)(0, 63);
        $value = (($this->random)(0, 0x7fffffff) << 32 | ($this->random)(0, 0x7fffffff) << 1) & (2 ** $bits - 1);

        return match (($this->random)(0, 3)) {
            0 => $value * -1,
            1 => (1 << min($bits, 62)) - ($this->random)(0, 2),
            default => $value,
        };
    }

    /** Returns a string of random bytes. */
    public function string(int $limit = 300): string
    {
        $string = '';
        $left = ($this->random)(0, ($this->random)(0, 1) === 0 ? min(40, $limit) : $limit);
        for (; $left > 0; --$left) {
            $string .= chr(($this->random)(0, 255));
        }

        return $string;
    }

    /** Returns any value. */
    public function any(int $depth = 0): mixed
    {
        switch (($this->random)(0, $depth < 4 ? 12 : 8)) {
            case 0:
                return null;
            case 1:
                return ($this->random)(0, 1) === 1;
            case 2:
                return ($this->random)(-1000000, 1000000) / 128;
            case 3:
                return Value\Decimal::fromString(($this->random)(-99999, 99999) . '.' . ($this->random)(0, 9999));
            case 4:
                return new Value\DateTime($this->integer(), ($this->random)(0, 999999999), ($this->random)(-720, 840));
            case 5:
                return $this->string();
            case 9:
            case 10:
                return array_map(fn (): mixed => $this->any($depth + 1), array_fill(0, ($this->random)(0, 20), 0));
            case 11:
            case 12:
                $map = [];
                for ($left = ($this->random)(1, 20); $left > 0; --$left) {
                    $map['k' . $this->string(10)] = $this->any($depth + 1);
                }

                return $map;
            default:
                return $this->integer();
        }
    }
}
