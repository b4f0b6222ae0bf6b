"""The source of a small extension of PHP, as PECL has them."""

from pathlib import Path

CONFIG = """\
PHP_ARG_ENABLE([answers], [whether to enable answers], [AS_HELP_STRING([--enable-answers], [Enable answers])], [no])
if test "$PHP_ANSWERS" != "no"; then
  PHP_NEW_EXTENSION(answers, answers.c, $ext_shared)
fi
"""
CODE = """\
#include "php.h"

PHP_FUNCTION(the_answer)
{
	ZEND_PARSE_PARAMETERS_NONE();
	RETURN_LONG(42);
}

ZEND_BEGIN_ARG_INFO(arginfo_the_answer, 0)
ZEND_END_ARG_INFO()

static const zend_function_entry functions[] = { PHP_FE(the_answer, arginfo_the_answer) PHP_FE_END };

zend_module_entry answers_module_entry = {
	STANDARD_MODULE_HEADER, "answers", functions, NULL, NULL, NULL, NULL, NULL, "1.0", STANDARD_MODULE_PROPERTIES
};

ZEND_GET_MODULE(answers)
"""


def extension_source(place: Path) -> Path:
    """An extension `answers` with one function, the_answer()."""
    place.mkdir(parents=True)
    (place / "config.m4").write_text(CONFIG)
    (place / "answers.c").write_text(CODE)
    return place
