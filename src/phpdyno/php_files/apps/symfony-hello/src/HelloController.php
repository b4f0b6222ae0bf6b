<?php

declare(strict_types=1);

namespace App;

use Symfony\Component\HttpFoundation\JsonResponse;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\HttpKernel\Exception\NotFoundHttpException;
use Symfony\Component\Routing\Generator\UrlGeneratorInterface;
use Twig\Environment;

final class HelloController
{
    private const PARTS = ['torque', 'piston', 'gear', 'clutch', 'valve', 'crank', 'camshaft', 'flywheel', 'rotor', 'gauge', 'shaft', 'brake'];

    public function __construct(private Environment $twig, private UrlGeneratorInterface $urls)
    {
    }

    public function home(): Response
    {
        return new Response($this->twig->render('home.html.twig', ['subject' => 'world']));
    }

    public function part(string $name): Response
    {
        if (!in_array($name, self::PARTS, true)) {
            throw new NotFoundHttpException("There is no part $name.");
        }

        return new Response($this->twig->render('part.html.twig', ['name' => $name, 'parts' => self::PARTS]));
    }

    public function api(): JsonResponse
    {
        $row = fn (string $name): array => ['name' => $name, 'url' => $this->urls->generate('part', ['name' => $name]), 'sum' => md5($name)];

        return new JsonResponse(['parts' => array_map($row, self::PARTS)]);
    }
}
