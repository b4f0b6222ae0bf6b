/* Linked into what is compiled to be trained: two signals by which a process forgets, or writes, what it has counted so far.
 * The program and each of its modules have counters of their own, so each has this file in it, and hands the signal on to the one before. */
#include <signal.h>
#include <stddef.h>

extern void __gcov_reset(void);
extern void __gcov_dump(void);

static struct sigaction before_forget, before_write;

static void hand_on(const struct sigaction *before, int number)
{
    if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN) {
        before->sa_handler(number);
    }
}

static void forget(int number)
{
    __gcov_reset();
    hand_on(&before_forget, number);
}

static void write_down(int number)
{
    __gcov_dump();
    hand_on(&before_write, number);
}

__attribute__((constructor)) static void listen_to_signals(void)
{
    struct sigaction action = {0};

    sigfillset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    action.sa_handler = forget;
    sigaction(SIGRTMIN + 5, &action, &before_forget);
    action.sa_handler = write_down;
    sigaction(SIGRTMIN + 6, &action, &before_write);
}
