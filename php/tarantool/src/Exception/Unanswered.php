<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Exception;

/**
 * Base of the exceptions of requests that were submitted and got no usable answer.
 */
abstract class Unanswered extends \RuntimeException implements TarantoolException
{
    final public function __construct(
        string $message,
        public readonly Outcome $outcome,
        ?\Throwable $previous = null,
    ) {
        parent::__construct($message . ' (request: ' . $outcome->value . ')', 0, $previous);
    }
}
