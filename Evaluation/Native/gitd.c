//! build: gcc -O2 -B/usr/libexec/mold $S -o $O -lgit2 -lpthread
//! part: open
//! packages: libgit2-dev mold
//! stall diff | score_line | score_line|diff_texts|on_diff | cpu
//! stall merge | merge_texts | merge_texts|on_merge | cpu
//! stall walk | show_file | show_file|list_tree|on_walk | syscall
#include "stall.h"
#include <git2.h>
static volatile long acc;
static char a[40000], b[40000];
static git_repository *repo;
static git_oid tree;
static int score_line(const git_diff_delta *d, const git_diff_hunk *h, const git_diff_line *l, void *u) {
    (void)d;
    (void)h;
    unsigned s = 0;
    for (int r = 0; r < 80; r++)
        for (size_t i = 0; i < l->content_len; i++) s = s * 131 + l->content[i] + (l->origin == '+');
    *(unsigned *)u += s;
    return 0;
}
static unsigned diff_texts(void) {
    unsigned s = 0;
    git_diff_buffers(a, strlen(a), 0, b, strlen(b), 0, 0, 0, 0, 0, score_line, &s);
    return s;
}
void on_diff(void) { REPEAT(acc += diff_texts()); }
static int merge_texts(void) {
    git_merge_file_input x = {.version = 1, .ptr = a, .size = strlen(a)}, y = x, z = x;
    y.ptr = b;
    y.size = strlen(b);
    z.size /= 2;
    git_merge_file_result r;
    if (git_merge_file(&r, &x, &y, &z, 0)) return -1;
    int n = r.len;
    git_merge_file_result_free(&r);
    return n;
}
void on_merge(void) { REPEAT(acc += merge_texts()); }
static int show_file(const char *r, const git_tree_entry *t, void *u) {
    (void)r;
    (void)u;
    acc += git_tree_entry_name(t)[0];
    usleep(44000);
    return 0;
}
static void list_tree(void) {
    git_tree *t;
    git_tree_lookup(&t, repo, &tree);
    git_tree_walk(t, GIT_TREEWALK_PRE, show_file, 0);
    git_tree_free(t);
}
void on_walk(void) { list_tree(); }
static const struct way ways[] = {{"diff", on_diff}, {"merge", on_merge}, {"walk", on_walk}, {0, 0}};
int main(int c, char **v) {
    (void)c;
    git_libgit2_init();
    char d[60];
    snprintf(d, 60, "repo.%d", getpid());
    git_repository_init(&repo, d, 1);
    git_treebuilder *t;
    git_treebuilder_new(&t, repo, 0);
    for (int i = 0; i < 10; i++) {
        git_oid o;
        char n[20];
        sprintf(n, "f%d", i);
        git_blob_create_from_buffer(&o, repo, n, strlen(n));
        git_treebuilder_insert(0, t, n, &o, GIT_FILEMODE_BLOB);
    }
    git_treebuilder_write(&tree, t);
    for (int i = 0; i < 700; i++) {
        sprintf(a + strlen(a), "line %d of this text\n", i);
        sprintf(b + strlen(b), i % 3 ? "line %d of this text\n" : "line %d was changed here\n", i);
    }
    serve_epoll(atoi(v[1]), ways);
}
