//! build: clang -O3 -fuse-ld=lld -I/usr/include/igraph $S -o $O -lnlopt -ligraph -lgsl -lgslcblas -lm
//! part: open
//! packages: libnlopt-dev libigraph-dev libgsl-dev clang lld
//! stall obj | rosenbrock_cost | rosenbrock_cost|minimise|on_obj | cpu
//! stall bfs | seen_vertex | seen_vertex|explore|on_bfs | syscall
//! stall quad | density | density|probability|on_quad | cpu
#include "stall.h"
#include <nlopt.h>
#include <igraph.h>
#include <gsl/gsl_integration.h>
#include <math.h>
static volatile double acc;
static igraph_t g;
static double rosenbrock_cost(unsigned n, const double *x, double *gr, void *d) {
    (void)gr;
    (void)d;
    double s = 0;
    for (int r = 0; r < 600; r++)
        for (unsigned i = 0; i + 1 < n; i++) {
            double a = 1 - x[i], b = x[i + 1] - x[i] * x[i];
            s += a * a + 100 * b * b + r * 1e-9;
        }
    return s;
}
static double minimise(void) {
    nlopt_opt o = nlopt_create(NLOPT_LN_NELDERMEAD, 12);
    nlopt_set_min_objective(o, rosenbrock_cost, 0);
    nlopt_set_maxeval(o, 2000);
    double x[12] = {0}, f = 0;
    nlopt_optimize(o, x, &f);
    nlopt_destroy(o);
    return f;
}
void on_obj(void) { REPEAT(acc += minimise()); }
static igraph_error_t seen_vertex(
    const igraph_t *h, igraph_integer_t v, igraph_integer_t p, igraph_integer_t s, igraph_integer_t r, igraph_integer_t d, void *u) {
    (void)h;
    (void)p;
    (void)s;
    (void)r;
    (void)u;
    acc += v + d;
    if (v % 10 == 0) usleep(30000);
    return 0;
}
static void explore(void) { igraph_bfs(&g, 3, 0, IGRAPH_ALL, 0, 0, 0, 0, 0, 0, 0, 0, (igraph_bfshandler_t *)seen_vertex, 0); }
void on_bfs(void) { explore(); }
static double density(double x, void *p) {
    double s = *(double *)p, t = 0;
    for (int k = 1; k < 200; k++) t += exp(-x * x / (2 * s * s * k)) / k;
    return t;
}
static double probability(double b) {
    static gsl_integration_workspace *w;
    if (!w) w = gsl_integration_workspace_alloc(200);
    gsl_function f = {density, &b};
    double r, er;
    gsl_integration_qag(&f, 0, b, 1e-9, 1e-9, 200, 3, w, &r, &er);
    return r;
}
void on_quad(void) { REPEAT(acc += probability(2.5)); }
static const struct way ways[] = {{"obj", on_obj}, {"bfs", on_bfs}, {"quad", on_quad}, {0, 0}};
int main(int c, char **v) {
    (void)c;
    igraph_ring(&g, 150, 0, 0, 1);
    serve_epoll(atoi(v[1]), ways);
}
