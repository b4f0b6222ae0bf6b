<?php
/* Fills a fresh MediaWiki with a small handbook that is the same every time: php fill.php --conf DOCROOT/LocalSettings.php */

declare(strict_types=1);

use MediaWiki\MediaWikiServices;
use Wikimedia\Timestamp\ConvertibleTimestamp;

const PARTS = ['Torque', 'Piston', 'Gear', 'Clutch', 'Valve', 'Crank', 'Camshaft', 'Flywheel', 'Rotor', 'Gauge', 'Shaft', 'Brake'];
const KINDS = ['bench', 'road', 'hill'];
const CATEGORIES = ['Workshop', 'Engines', 'Road tests', 'Letters'];
const NAMES = ['Ada', 'Grace', 'Edsger', 'Barbara', 'Niklaus', 'Radia'];
const REVISIONS = 3;
const WORDS = ['torque', 'piston', 'gear', 'clutch', 'valve', 'crank', 'camshaft', 'flywheel', 'rotor', 'gauge', 'shaft', 'brake', 'the', 'a', 'of',
    'under', 'over', 'with', 'slowly', 'quick', 'steady', 'measured', 'turns', 'holds', 'runs', 'cold', 'warm', 'second', 'minute', 'road',
    'hill', 'bench', 'test', 'again', 'never', 'always', 'and', 'but', 'while', 'because'];
const INFOBOX = <<<'END'
<includeonly>{| class="wikitable" style="float: right"
! colspan="2" | {{{name|{{PAGENAME}}}}}
|-
| Kind || {{#switch: {{{kind|}}} | bench = On the bench | road = On the road | #default = Elsewhere }}
|-
| Number || {{formatnum: {{#expr: {{{number}}} * 1250 + 7 }} }}
{{#if: {{{checked|}}} | {{!}}-
{{!}} Checked {{!}}{{!}} {{{checked}}} }}
|}[[Category:{{{category}}}]]</includeonly>
END;
const LINKS = <<<'END'
<includeonly>{| class="wikitable"
! See also
|-
|
LIST
|}</includeonly>
END;

require_once dirname($argv[2] ?? '') . '/maintenance/Maintenance.php';

class Fill extends Maintenance
{
    private int $state = 20240229;
    private int $edits = 0;

    public function execute(): void
    {
        ConvertibleTimestamp::setFakeTime($this->moment());
        $this->dateInstallation();
        $this->write('Template:Infobox', INFOBOX);
        $this->write('Template:Note', "<includeonly><blockquote>'''Note {{{1}}}.''' {{{2}}}</blockquote></includeonly>");
        $list = implode("\n", array_map(static fn (string $title): string => "* [[$title]]", $this->titles()));
        $this->write('Template:See also', str_replace('LIST', $list, LINKS));
        foreach (CATEGORIES as $category) {
            $this->write("Category:$category", $this->paragraph() . "\n\n" . $this->paragraph());
        }
        for ($revision = 0; $revision < REVISIONS; $revision++) {
            foreach ($this->titles() as $number => $title) {
                $this->write($title, $this->article($number));
            }
        }
        for ($revision = 0; $revision < 40; $revision++) {
            $this->write('Main Page', $this->mainPage());
        }
        DeferredUpdates::doUpdates();
        MediaWikiServices::getInstance()->getJobRunner()->run(['throttle' => false]);
        SiteStats::unload();
        SiteStatsInit::doAllAndCommit($this->getDB(DB_PRIMARY), ['update' => true]);
        $this->output("$this->edits edits\n");
        ObjectCache::getInstance(CACHE_DB)->deleteAll(); // what was made on the way is as old as the edits
    }

    /** What the installer wrote bears today's date. */
    private function dateInstallation(): void
    {
        $then = $this->getDB(DB_PRIMARY)->timestamp($this->moment());
        foreach (['revision' => 'rev', 'recentchanges' => 'rc', 'logging' => 'log'] as $table => $prefix) {
            $this->getDB(DB_PRIMARY)->update($table, ["{$prefix}_timestamp" => $then], '*', __METHOD__);
        }
    }

    /** Seconds since 1970 of the next edit: an hour after the last, from the first of March 2024 on. */
    private function moment(): int
    {
        return 1709280000 + $this->edits * 3600;
    }

    /** A deterministic draw from 0 to $below - 1, independent of PHP's own generators and their versions. */
    private function draw(int $below): int
    {
        $this->state = ($this->state * 1103515245 + 12345) % 2147483648;

        return intdiv($this->state, 65536) % $below;
    }

    private function titles(): array
    {
        $titles = [];
        foreach (KINDS as $kind) {
            foreach (PARTS as $part) {
                $titles[] = "$part ($kind)";
            }
        }

        return $titles;
    }

    private function sentence(): string
    {
        $words = [];
        for ($i = 6 + $this->draw(9); $i > 0; $i--) {
            $words[] = WORDS[$this->draw(count(WORDS))];
        }
        $linked = $this->draw(count($words));
        $words[$linked] = $this->draw(3) ? $words[$linked] : "[[{$this->titles()[$this->draw(36)]}|$words[$linked]]]";

        return ucfirst(implode(' ', $words)) . '.';
    }

    private function paragraph(): string
    {
        return implode(' ', array_map(fn (): string => $this->sentence(), range(1, 4 + $this->draw(4))));
    }

    private function section(int $number): string
    {
        $items = implode("\n", array_map(fn (): string => '* ' . $this->sentence(), range(1, 4)));
        $rows = implode("\n", array_map(fn (int $row): string => "|-\n| $row || {$this->draw(900)} || ''" . WORDS[$this->draw(12)] . "''", range(1, 6)));

        return "== Section $number: " . ucfirst(WORDS[$this->draw(12)]) . " ==\n{$this->paragraph()}<ref>{$this->sentence()}</ref>\n\n"
            . "{$this->paragraph()}\n\n$items\n\n{{Note|$number|{$this->sentence()}}}\n\n"
            . "{| class=\"wikitable\"\n! Try !! Reading !! Part\n$rows\n|}\n\n{$this->paragraph()} '''{$this->sentence()}'''";
    }

    private function article(int $number): string
    {
        $category = CATEGORIES[$number % count(CATEGORIES)];
        $kind = KINDS[intdiv($number, count(PARTS))];
        $checked = $number % 2 ? '' : '|checked=yes';
        $sections = implode("\n\n", array_map(fn (int $section): string => $this->section($section), range(1, 5)));

        return "{{Infobox|kind=$kind|number=$number|category=$category$checked}}\n{$this->paragraph()}\n\n$sections\n\n"
            . "== References ==\n<references />\n\n{{See also}}";
    }

    private function mainPage(): string
    {
        $news = implode("\n", array_map(fn (): string => '* ' . $this->sentence(), range(1, 8)));
        $categories = implode(' · ', array_map(static fn (string $name): string => "[[:Category:$name|$name]]", CATEGORIES));

        return "'''The handbook of the bench''' has {{NUMBEROFARTICLES}} articles: $categories.\n\n{$this->paragraph()}\n\n== News ==\n$news\n\n"
            . "{{Note|1|{$this->sentence()}}}\n\n== All articles ==\n{{See also}}";
    }

    /** One edit; ends with exit code 1 and one line when MediaWiki refuses it. */
    private function write(string $title, string $text): void
    {
        $this->edits++;
        ConvertibleTimestamp::setFakeTime($this->moment());
        $user = $this->author(NAMES[$this->edits % count(NAMES)]);
        $page = MediaWikiServices::getInstance()->getWikiPageFactory()->newFromTitle(Title::newFromText($title));
        $status = $page->doUserEditContent(ContentHandler::makeContent($text, $page->getTitle()), $user, "Edit $this->edits");
        if (!$status->isOK()) {
            $this->fatalError("$title: $status");
        }
        DeferredUpdates::doUpdates();
    }

    private function author(string $name): User
    {
        $user = User::newFromName($name);
        if ($user->getId() === 0 && !$user->addToDatabase()->isOK()) {
            $this->fatalError("user $name");
        }

        return $user;
    }
}

$maintClass = Fill::class;
require_once RUN_MAINTENANCE_IF_MAIN;
