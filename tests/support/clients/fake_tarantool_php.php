<?php
// A fake of tarantool-php/client, for tests: it talks to no server, and its selects give another row than was asked for.
declare(strict_types=1);

namespace Tarantool\Client\Packer {
    final class PurePacker
    {
    }
}

namespace Tarantool\Client\Connection {
    final class StreamConnection
    {
        public static function create(string $uri, array $options): self
        {
            return new self();
        }
    }
}

namespace Tarantool\Client\Handler {
    final class DefaultHandler
    {
        public function __construct(object $connection, object $packer)
        {
        }
    }
}

namespace Tarantool\Client\Schema {
    final class Criteria
    {
        private function __construct(public readonly array $key)
        {
        }

        public static function key(array $key): self
        {
            return new self($key);
        }
    }

    final class Space
    {
        public function select(Criteria $criteria): array
        {
            return [[$criteria->key[0] + 1, 'another']];
        }

        public function replace(array $tuple): array
        {
            return [$tuple];
        }

        public function delete(array $key): array
        {
            return [];
        }
    }
}

namespace Tarantool\Client {
    final class Client
    {
        public function __construct(object $handler)
        {
        }

        public function ping(): void
        {
        }

        public function getSpaceById(int $id): Schema\Space
        {
            return new Schema\Space();
        }
    }
}
