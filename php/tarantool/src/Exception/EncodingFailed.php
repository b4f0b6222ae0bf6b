<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Exception;

/**
 * A PHP value has no MessagePack form.
 */
final class EncodingFailed extends \InvalidArgumentException implements TarantoolException
{
}
