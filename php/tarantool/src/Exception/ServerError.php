<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Exception;

use Phpdyno\Tarantool\Value\ErrorInfo;

/**
 * The server answered a request with an error; getCode() is Tarantool's error code.
 */
final class ServerError extends \RuntimeException implements TarantoolException
{
    public const NO_SUCH_INDEX = 35;
    public const NO_SUCH_SPACE = 36;

    /**
     * Creates the exception.
     *
     * @param list<ErrorInfo> $stack the error and its causes, outermost first; empty when the server gives none
     */
    public function __construct(string $message, int $code, public readonly array $stack = [])
    {
        parent::__construct($message, $code);
    }
}
