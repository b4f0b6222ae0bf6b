<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Protocol;

/**
 * Numbers of the IPROTO protocol.
 */
final class Iproto
{
    public const OK = 0;
    public const SELECT = 1;
    public const INSERT = 2;
    public const REPLACE = 3;
    public const UPDATE = 4;
    public const DELETE = 5;
    public const AUTH = 7;
    public const EVAL = 8;
    public const UPSERT = 9;
    public const CALL = 10;
    public const EXECUTE = 11;
    public const PREPARE = 13;
    public const PING = 64;
    public const PUSH = 0x80;
    public const ERROR = 0x8000;

    public const KEY_TYPE = 0x00;
    public const KEY_SYNC = 0x01;
    public const KEY_SCHEMA_VERSION = 0x05;
    public const KEY_DATA = 0x30;
    public const KEY_ERROR_MESSAGE = 0x31;
    public const KEY_METADATA = 0x32;
    public const KEY_BIND_COUNT = 0x34;
    public const KEY_TUPLE = 0x21;
    public const KEY_USER = 0x23;
    public const KEY_SQL_TEXT = 0x40;
    public const KEY_SQL_INFO = 0x42;
    public const KEY_STATEMENT = 0x43;
    public const KEY_ERROR_STACK = 0x52;

    public const VSPACE = 281;
    public const VINDEX = 289;
    public const INDEX_BY_NAME = 2;
}
