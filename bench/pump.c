/* The least a proxy can cost: bytes from one end to the other and back, unread. Built by bench/proxy.py. */
#include <poll.h>
#include <unistd.h>

static char buffer[1 << 16];

static int pass(int from, int to) {
    ssize_t got = read(from, buffer, sizeof buffer);
    for (ssize_t done = 0; done < got;) {
        ssize_t put = write(to, buffer + done, got - done);
        if (put < 0) return 0;
        done += put;
    }
    return got > 0;
}

int main(int count, char **words) {
    int up[2], down[2];
    if (count < 2 || pipe(up) || pipe(down)) return 2;
    if (!fork()) {
        dup2(up[0], 0), dup2(down[1], 1);
        close(up[0]), close(up[1]), close(down[0]), close(down[1]);
        execvp(words[1], words + 1);
        _exit(127);
    }
    close(up[0]), close(down[1]);
    struct pollfd ends[2] = {{0, POLLIN, 0}, {down[0], POLLIN, 0}};
    while (poll(ends, 2, -1) > 0) {
        if (ends[0].revents && !pass(0, up[1])) close(up[1]), ends[0].fd = -1;
        if (ends[1].revents && !pass(down[0], 1)) return 0;
    }
    return 0;
}
