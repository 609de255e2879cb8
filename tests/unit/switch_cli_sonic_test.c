// links: sim_switch_cli
/* JSON patches as RFC 6902 (appendix A) has them, and lines of a shell. */
#include <string.h>

#include "tests/sim/command_line/switch_cli_shell_wire.h"
#include "tests/sim/command_line/switch_cli_sonic.h"
#include "tests/support/cmocka.h"

static void patches(void **state)
{
	static const struct {
		const char *before, *patch, *after, *why; /* `why`: refused */
	} cases[] = {
		{"{'foo':'bar'}", "[{'op':'add','path':'/baz','value':'qux'}]",
		 "{'baz':'qux','foo':'bar'}", NULL},
		{"{'foo':['bar','baz']}", "[{'op':'add','path':'/foo/1','value':'qux'}]",
		 "{'foo':['bar','qux','baz']}", NULL},
		{"{'foo':['bar']}", "[{'op':'add','path':'/foo/-','value':['abc']}]",
		 "{'foo':['bar',['abc']]}", NULL},
		{"{'baz':'qux','foo':'bar'}", "[{'op':'remove','path':'/baz'}]", "{'foo':'bar'}",
		 NULL},
		{"{'foo':['bar','qux','baz']}", "[{'op':'remove','path':'/foo/1'}]",
		 "{'foo':['bar','baz']}", NULL},
		{"{'baz':'qux','foo':'bar'}", "[{'op':'replace','path':'/baz','value':'boo'}]",
		 "{'baz':'boo','foo':'bar'}", NULL},
		{"{'foo':{'bar':1},'qux':{}}", "[{'op':'move','from':'/foo/bar','path':'/qux/x'}]",
		 "{'foo':{},'qux':{'x':1}}", NULL},
		{"{'a':{'b':[1]}}", "[{'op':'copy','from':'/a/b','path':'/c'}]",
		 "{'a':{'b':[1]},'c':[1]}", NULL},
		{"{'a/b':1,'m~n':2}",
		 "[{'op':'test','path':'/a~1b','value':1},{'op':'remove','path':'/m~0n'}]",
		 "{'a/b':1}", NULL},
		{"{'VLAN':{'Vlan7|e':1}}", "[{'op':'remove','path':'/VLAN/Vlan7|e'}]",
		 "{'VLAN':{}}", NULL},
		{"{'foo':'bar'}", "[{'op':'add','path':'/baz/bat','value':1}]", NULL,
		 "member 'baz' not found in the document"},
		{"{'baz':'qux'}", "[{'op':'test','path':'/baz','value':'bar'}]", NULL,
		 "tested value is not equal to expected value"},
		{"{}", "[{'op':'remove','path':'/x'}]", NULL,
		 "can't remove a non-existent object 'x'"},
		{"{}", "[{'op':'replace','path':'/x','value':1}]", NULL,
		 "can't replace a non-existent object 'x'"},
		{"{'a':[1]}", "[{'op':'add','path':'/a/2','value':1}]", NULL,
		 "can't insert outside of list"},
		{"{}", "[{'op':'add','path':'x','value':1}]", NULL, "Location must start with /"},
		{"{}", "[{'op':'add','path':'/x'}]", NULL,
		 "The operation does not contain a 'value' member"},
		{"{}", "[{'op':'merge','path':'/x','value':1}]", NULL, "Unknown operation 'merge'"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		char texts[3][256] = {""};
		json_t *document;
		json_t *patch;
		json_t *after;
		struct text why = {0};

		(void)text_copy(texts[0], 256, cases[i].before);
		(void)text_copy(texts[1], 256, cases[i].patch);
		(void)text_copy(texts[2], 256, cases[i].after ? cases[i].after : "{}");
		for (size_t n = 0; n < 3; n++) {
			for (char *at = strchr(texts[n], '\''); at; at = strchr(at, '\''))
				*at = '"';
		}
		document = json_loads(texts[0], 0, NULL);
		patch = json_loads(texts[1], 0, NULL);
		after = json_loads(texts[2], 0, NULL);
		assert_non_null(document);
		assert_non_null(patch);
		assert_int_equal(sonic_patch(document, patch, &why), cases[i].after != NULL);
		if (cases[i].after)
			assert_true(json_equal(document, after));
		else
			assert_string_equal(text_get(&why), cases[i].why);
		text_done(&why);
		json_decref(document);
		json_decref(patch);
		json_decref(after);
	}
}

static void lines(void **state)
{
	/* Words as they are, operators as ( ) around their letter. */
	static const struct {
		const char *line;
		enum shell_lexed lexed;
		const char *tokens;
	} cases[] = {
		{"show vlan brief", SHELL_LEXED, "show,vlan,brief,"},
		{"echo 'a b' \"c'd\" e\\ f ''", SHELL_LEXED, "echo,a b,c'd,e f,,"},
		{"a|b;c&&d||e", SHELL_LEXED, "a,(1)b,(2)c,(3)d,(4)e,"},
		{"a > b >> c < d 2> e 2>&1", SHELL_LEXED, "a,(5)b,(6)c,(7)d,(9)e,"},
		{"cat <<E > f\none\ntwo\nE\nrm f", SHELL_LEXED, "cat,(8:one\ntwo\n)(5)f,(2)rm,f,"},
		{"a # b", SHELL_LEXED, "a,"},
		{"echo 'open", SHELL_MORE, NULL},
		{"cat <<E\none", SHELL_MORE, NULL},
		{"sleep 1 &", SHELL_WRONG, NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct shell_tokens tokens;
		struct text seen = {0};

		assert_int_equal(shell_lex(cases[i].line, &tokens), cases[i].lexed);
		for (size_t n = 0; n < tokens.count; n++) {
			const struct shell_token *token = &tokens.tokens[n];

			if (token->kind == SHELL_WORD)
				text_addf(&seen, "%s,", token->word);
			else if (token->word)
				text_addf(&seen, "(%d:%s)", (int)token->kind, token->word);
			else
				text_addf(&seen, "(%d)", (int)token->kind);
		}
		if (cases[i].tokens)
			assert_string_equal(text_get(&seen), cases[i].tokens);
		text_done(&seen);
		shell_tokens_done(&tokens);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patches),
		cmocka_unit_test(lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
