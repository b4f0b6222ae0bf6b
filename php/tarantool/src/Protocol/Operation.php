<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Protocol;

use Phpdyno\Tarantool\Codec\RowFormat;

/**
 * What requests of one sort have in common.
 *
 * @internal
 */
final class Operation
{
    /** The start of the frame's header, up to the four bytes of sync. */
    public readonly string $header;

    /** Whether the answer is rows: this and the next tell the common cases without comparing enums. */
    public readonly bool $isRows;

    /** Whether the answer is rows, or the first of them. */
    public readonly bool $hasRows;

    /**
     * Creates an operation.
     *
     * @param bool $idempotent   sending it twice does no harm
     * @param bool $sessionBound it means something in the present session only, so it is never repeated in another
     */
    public function __construct(
        public readonly int $type,
        public readonly AnswerKind $kind,
        public readonly bool $idempotent = false,
        public readonly bool $sessionBound = false,
        public readonly ?RowFormat $format = null,
    ) {
        $this->isRows = $kind === AnswerKind::Rows;
        $this->hasRows = $this->isRows || $kind === AnswerKind::FirstRow;
        $this->header = "\x82\x00" . chr($type) . "\x01\xce";
    }
}
