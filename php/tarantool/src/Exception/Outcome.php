<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Exception;

/**
 * Tells what is known about a request that got no answer.
 */
enum Outcome: string
{
    /** No byte of the request reached the operating system: it was not executed. */
    case Unsent = 'unsent';

    /** At least one byte was written: the server may have executed the request. */
    case PerhapsExecuted = 'perhaps executed';
}
