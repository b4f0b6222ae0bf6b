<?php
/* Installs WordPress into an empty database and fills it with a small blog that is the same every time: php install.php DOCROOT */

declare(strict_types=1);

const POSTS = 30;
const COMMENTS_PER_POST = 4;
const CATEGORIES = ['Workshop', 'Engines', 'Road tests', 'Letters'];
const TAGS = ['steel', 'fuel', 'timing', 'tyres', 'cooling', 'gears', 'brakes', 'paint'];
const NAMES = ['Ada', 'Grace', 'Edsger', 'Barbara', 'Niklaus', 'Radia'];
const WORDS = ['torque', 'piston', 'gear', 'clutch', 'valve', 'crank', 'camshaft', 'flywheel', 'rotor', 'gauge', 'shaft', 'brake', 'the', 'a', 'of',
    'under', 'over', 'with', 'slowly', 'quick', 'steady', 'measured', 'turns', 'holds', 'runs', 'cold', 'warm', 'second', 'minute', 'road',
    'hill', 'bench', 'test', 'again', 'never', 'always', 'and', 'but', 'while', 'because'];

/* No mail may leave the machine, and the installer's loopback request to http://localhost could reach a live site. */
function wp_mail(): bool
{
    return false;
}

/** A deterministic draw from 0 to $below - 1, independent of PHP's own generators and their versions. */
function draw(int $below): int
{
    static $state = 20240229;
    $state = ($state * 1103515245 + 12345) % 2147483648;

    return intdiv($state, 65536) % $below;
}

function sentence(): string
{
    $words = [];
    for ($i = 6 + draw(9); $i > 0; $i--) {
        $words[] = WORDS[draw(count(WORDS))];
    }

    return ucfirst(implode(' ', $words)) . '.';
}

function paragraph(): string
{
    $text = implode(' ', array_map(static fn (): string => sentence(), range(1, 4 + draw(4))));

    return "<!-- wp:paragraph -->\n<p>$text</p>\n<!-- /wp:paragraph -->";
}

/** An article of blocks, as the editor writes them: paragraphs, a heading, a list, a quotation. */
function article(): string
{
    $items = implode('', array_map(static fn (): string => '<li>' . sentence() . '</li>', range(1, 4)));
    $parts = [
        paragraph(), paragraph(),
        "<!-- wp:heading -->\n<h2>" . sentence() . "</h2>\n<!-- /wp:heading -->",
        paragraph(), "<!-- wp:list -->\n<ul>$items</ul>\n<!-- /wp:list -->", paragraph(),
        "<!-- wp:quote -->\n<blockquote class=\"wp-block-quote\"><p>" . sentence() . "</p></blockquote>\n<!-- /wp:quote -->",
        paragraph(),
    ];

    return implode("\n\n", $parts);
}

/** A fixed date (UTC), $hours after the first of March 2024. */
function moment(int $hours): string
{
    return gmdate('Y-m-d H:i:s', 1709280000 + $hours * 3600);
}

/** Ends with exit code 1 and one line when WordPress hands back an error. */
function must(mixed $result, string $what): mixed
{
    if (!$result || is_wp_error($result)) {
        fwrite(STDERR, "$what: " . (is_wp_error($result) ? $result->get_error_message() : 'failed') . "\n");
        exit(1);
    }

    return $result;
}

function add_post(int $number, array $categories): void
{
    $id = must(wp_insert_post([
        'post_title' => "Bench note $number: " . ucfirst(WORDS[draw(12)]) . ' and ' . WORDS[draw(12)],
        'post_name' => "bench-note-$number",
        'post_content' => article(),
        'post_status' => 'publish',
        'post_author' => 1,
        'post_date' => moment($number * 31),
        'post_date_gmt' => moment($number * 31),
        'post_category' => [$categories[$number % count($categories)]],
        'tags_input' => [TAGS[$number % count(TAGS)], TAGS[($number * 3 + 1) % count(TAGS)]],
    ], true), "post $number");
    for ($i = 1; $i <= COMMENTS_PER_POST; $i++) {
        $name = NAMES[draw(count(NAMES))];
        must(wp_insert_comment([
            'comment_post_ID' => $id,
            'comment_author' => $name,
            'comment_author_email' => strtolower($name) . '@example.org',
            'comment_content' => sentence() . ' ' . sentence(),
            'comment_date' => moment($number * 31 + $i),
            'comment_date_gmt' => moment($number * 31 + $i),
            'comment_approved' => 1,
        ]), "comment $i on post $number");
    }
}

function fill(): void
{
    $categories = [];
    foreach (CATEGORIES as $name) {
        $categories[] = must(wp_insert_term($name, 'category'), "category $name")['term_id'];
    }
    for ($number = 1; $number <= POSTS; $number++) {
        add_post($number, $categories);
    }
}

$docroot = $argv[1] ?? '';
if (!is_file("$docroot/wp-settings.php")) {
    fwrite(STDERR, "usage: php install.php DOCROOT (no WordPress in '$docroot')\n");
    exit(2);
}
mysqli_query(new mysqli('localhost', 'wordpress'), 'CREATE DATABASE wordpress');
$_SERVER['HTTP_HOST'] = 'localhost';
$_SERVER['REQUEST_URI'] = '/';
$_SERVER['SERVER_PROTOCOL'] = 'HTTP/1.1';
define('WP_INSTALLING', true);
require "$docroot/wp-load.php";
require_once ABSPATH . 'wp-admin/includes/upgrade.php';

add_filter('pre_http_request', static fn (): WP_Error => new WP_Error('offline', 'phpdyno installs offline'));
must(wp_install('The Dynamometer', 'admin', 'admin@example.org', true, '', wp_generate_password(32)), 'wp_install');
wp_delete_post(1, true); // "Hello world!" bears today's date
foreach (['timezone_string' => 'UTC', 'blogdescription' => 'Notes from the bench', 'posts_per_page' => 10] as $name => $value) {
    update_option($name, $value);
}
switch_theme('twentytwentyone');
must(get_stylesheet() === 'twentytwentyone', 'theme twentytwentyone');
fill();
$wp_rewrite->set_permalink_structure('/%postname%/');
flush_rewrite_rules(false);
echo 'WordPress ', $wp_version, ': ', wp_count_posts()->publish, " posts\n";
