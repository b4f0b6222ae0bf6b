<?php

declare(strict_types=1);

namespace App;

use Symfony\Bundle\FrameworkBundle\FrameworkBundle;
use Symfony\Bundle\FrameworkBundle\Kernel\MicroKernelTrait;
use Symfony\Bundle\TwigBundle\TwigBundle;
use Symfony\Component\DependencyInjection\Loader\Configurator\ContainerConfigurator;
use Symfony\Component\HttpKernel\Kernel as BaseKernel;
use Symfony\Component\Routing\Loader\Configurator\RoutingConfigurator;

/** All of the app's configuration. */
final class Kernel extends BaseKernel
{
    use MicroKernelTrait;

    public function registerBundles(): iterable
    {
        yield new FrameworkBundle();
        yield new TwigBundle();
    }

    public function getProjectDir(): string
    {
        return dirname(__DIR__);
    }

    /** One for each mode: both kinds of arm run on the same copy. */
    public function getCacheDir(): string
    {
        return $this->getProjectDir() . '/var/cache/' . ($this->debug ? 'debug' : 'plain');
    }

    public function getLogDir(): string
    {
        return $this->getProjectDir() . '/var/log';
    }

    private function configureContainer(ContainerConfigurator $container): void
    {
        $container->extension('framework', [
            'secret' => 'phpdyno',
            'http_method_override' => false,
            'router' => ['utf8' => true],
            'disallow_search_engine_index' => false, // else a header says so in debug mode, and the arms would answer differently
        ]);
        $container->extension('twig', ['default_path' => '%kernel.project_dir%/templates', 'strict_variables' => true]);
        $container->services()->set(HelloController::class)->autowire()->autoconfigure()->tag('controller.service_arguments');
    }

    private function configureRoutes(RoutingConfigurator $routes): void
    {
        $routes->add('home', '/')->controller([HelloController::class, 'home']);
        $routes->add('part', '/parts/{name}')->controller([HelloController::class, 'part'])->requirements(['name' => '[a-z]+']);
        $routes->add('api', '/api/parts')->controller([HelloController::class, 'api']);
    }
}
