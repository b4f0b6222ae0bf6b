<?php
/* phpdyno's copy of MediaWiki: SQLite beside the document root, nothing runs on its own, nothing leaves the machine.
   What follows is what the installer of 1.39 writes for SQLite where APCu is installed (Debian recommends it), but for what says why. */

if (!defined('MEDIAWIKI')) {
    exit;
}

require_once "$IP/includes/PlatformSettings.php";
$phpdynoRoot = dirname(__DIR__);

$wgSitename = 'The Dynamometer';
$wgMetaNamespace = 'The_Dynamometer';
$wgServer = 'http://localhost';
$wgScriptPath = '';
$wgUsePathInfo = false; // what php-fpm finds by itself; the command line would write other links into its pages
$wgResourceBasePath = $wgScriptPath;
$wgLogos = [
    '1x' => "$wgResourceBasePath/resources/assets/change-your-logo.svg",
    'icon' => "$wgResourceBasePath/resources/assets/change-your-logo-icon.svg",
];

/* Debian's places belong to the live site. */
$wgCacheDirectory = "$phpdynoRoot/cache";
$wgDBerrorLog = false;
$wgDebugLogGroups = [];

$wgDBtype = 'sqlite';
$wgDBname = 'wiki';
$wgSQLiteDataDir = "$phpdynoRoot/data";
$phpdynoDatabase = static fn (string $name): array => [
    'type' => 'sqlite',
    'dbname' => $name,
    'tablePrefix' => '',
    'variables' => ['synchronous' => 'NORMAL'],
    'dbDirectory' => $wgSQLiteDataDir,
    'trxMode' => 'IMMEDIATE',
    'flags' => 0,
];
$wgObjectCaches[CACHE_DB] = ['class' => SqlBagOStuff::class, 'loggroup' => 'SQLBagOStuff', 'server' => $phpdynoDatabase('wikicache')];
$wgObjectCaches['db-replicated'] = [
    'factory' => 'Wikimedia\ObjectFactory\ObjectFactory::getObjectFromSpec',
    'args' => [['factory' => 'ObjectCache::getInstance', 'args' => [CACHE_DB]]],
];
$wgJobTypeConf['default'] = ['class' => 'JobQueueDB', 'claimTTL' => 3600, 'server' => $phpdynoDatabase('wiki_jobqueue')];
$wgResourceLoaderUseObjectCacheForDeps = true;

/* app.cache; without a cache that answers, every page view would write its messages into SQLite */
$wgMainCacheType = ['accel' => CACHE_ACCEL, 'db' => CACHE_DB, 'none' => CACHE_NONE][getenv('MEDIAWIKI_CACHE') ?: 'accel'];
/* app.parser-cache */
if (getenv('MEDIAWIKI_PARSER_CACHE') === '0') {
    $wgParserCacheType = CACHE_NONE;
}
/* app.l10n: Debian's default is cdb. Both were made when the app was prepared, and nothing looks whether they are stale. */
$wgLocalisationCacheConf['manualRecache'] = true;
if (getenv('MEDIAWIKI_L10N') === 'php') {
    $wgLocalisationCacheConf['store'] = 'array';
}

$wgLanguageCode = 'en';
$wgLocaltimezone = 'UTC';
$wgSecretKey = 'phpdyno-secret-key'; // fixed, because nobody logs in here
$wgAuthenticationTokenVersion = '1';
$wgDefaultSkin = 'vector';
foreach (['MinervaNeue', 'MonoBook', 'Timeless', 'Vector'] as $phpdynoSkin) {
    wfLoadSkin($phpdynoSkin);
}
wfLoadExtension('Cite');
wfLoadExtension('ParserFunctions');

/* Nothing happens beside the page: no jobs, mail, uploads, programs, requests to other hosts. */
$wgJobRunRate = 0;
$wgEnableEmail = false;
$wgEnableUploads = false;
$wgUseInstantCommons = false;
$wgPingback = false;
$wgDiff3 = '';
$wgGitBin = false;

/* The same answer from every instance: no comments that say how long and when a page was parsed. */
$wgEnableParserLimitReporting = false;
$wgHooks['ParserOutputPostCacheTransform'][] = static function (ParserOutput $output, string &$text): void {
    $end = strrpos($text, "\n<!-- Saved in ");
    if ($end !== false) {
        $text = substr($text, 0, $end);
    }
};
