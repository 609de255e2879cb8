/* From one stack to another. On x86-64 by hand: swapcontext() asks the kernel for the signal mask, which
 * takes half of the time of all tests. Elsewhere by swapcontext(). */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#if defined(__x86_64__)

struct emulation_context {
	void *top; /* of a stack that rests: its registers */
};

/* Saves the registers that a function must keep, and takes those of the other stack. */
void emulation_context_swap(void **rest, void *go);
__asm__(".text\n"
	".globl emulation_context_swap\n"
	".type emulation_context_swap, @function\n"
	"emulation_context_swap:\n"
	"	endbr64\n"
	"	pushq %rbp\n"
	"	pushq %rbx\n"
	"	pushq %r12\n"
	"	pushq %r13\n"
	"	pushq %r14\n"
	"	pushq %r15\n"
	"	movq %rsp, (%rdi)\n"
	"	movq %rsi, %rsp\n"
	"	popq %r15\n"
	"	popq %r14\n"
	"	popq %r13\n"
	"	popq %r12\n"
	"	popq %rbx\n"
	"	popq %rbp\n"
	"	ret\n"
	".size emulation_context_swap, . - emulation_context_swap\n");

/* `run` never returns. */
static inline void emulation_context_make(struct emulation_context *context, void *stack,
					  size_t size, void (*run)(void))
{
	uintptr_t *top = (uintptr_t *)((char *)stack + size);

	/* Six registers, where to go, and no caller: the stack is as after a call. */
	*--top = 0;
	*--top = (uintptr_t)run;
	for (int i = 0; i < 6; i++)
		*--top = 0;
	context->top = top;
}

static inline void emulation_context_switch(struct emulation_context *rest,
					    struct emulation_context *go)
{
	emulation_context_swap(&rest->top, go->top);
}

#else

#include <ucontext.h>

struct emulation_context {
	ucontext_t at;
};

static inline void emulation_context_make(struct emulation_context *context, void *stack,
					  size_t size, void (*run)(void))
{
	if (getcontext(&context->at) != 0)
		abort();
	context->at.uc_stack.ss_sp = stack;
	context->at.uc_stack.ss_size = size;
	makecontext(&context->at, run, 0);
	/* Else AddressSanitizer clears what it knows of the whole stack, in each switch. */
	context->at.uc_stack.ss_size = 0;
}

static inline void emulation_context_switch(struct emulation_context *rest,
					    struct emulation_context *go)
{
	if (swapcontext(&rest->at, &go->at) != 0)
		abort();
}

#endif
