<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Protocol;

/**
 * What the body of an answer is decoded to.
 */
enum AnswerKind
{
    /** A list: tuples, or the values that a function returned. */
    case Rows;
    /** Rows that are decoded upon access. */
    case LazyRows;
    /** The first tuple, or null. */
    case FirstRow;
    /** A SqlResult. */
    case Sql;
    /** The decoded body map, as an array. */
    case Body;
    /** Null, whatever the body. */
    case Nothing;
    /** The undecoded bytes of header and body. */
    case Raw;
}
