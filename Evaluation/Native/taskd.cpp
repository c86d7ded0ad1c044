//! build: g++ -O2 -std=c++17 $S -o $O -ltbb -lpthread
//! part: kept
//! packages: libtbb-dev
//! stall func | (score_candidate|pick_best|rank)(.*operator.*)? | (score_candidate|pick_best|rank)(.*)?|on_func | cpu
//! stall virt | RleCodec::encode | RleCodec::encode|archive_all|on_virt | cpu
//! stall wait | Ledger::post | Ledger::post|settle|on_wait | lock
#include "stall.h"
#include <tbb/parallel_reduce.h>
#include <tbb/blocked_range.h>
#include <functional>
#include <vector>
#include <string>
#include <memory>
#include <mutex>
#include <thread>
#include <future>
#include <algorithm>
static volatile double acc;
static double score_candidate(const std::string &s) {
    double v = 0;
    for (int k = 1; k < 60; k++)
        for (char c : s) v = v * .97 + (c % k);
    return v;
}
__attribute__((noinline)) static std::string pick_best(const std::vector<std::string> &v, const std::function<double(const std::string &)> &f) {
    double b = -1;
    std::string r;
    for (auto &s : v) {
        double x = f(s);
        if (x > b) {
            b = x;
            r = s;
        }
    }
    return r;
}
static void on_func() {
    std::vector<std::string> v;
    for (int i = 0; i < 300; i++) v.push_back("candidate number " + std::to_string(i));
    REPEAT(acc = acc + pick_best(v, score_candidate).size());
}
struct Codec {
    virtual ~Codec() {}
    virtual std::string encode(const std::string &) const = 0;
};
struct RleCodec : Codec {
    std::string encode(const std::string &s) const override {
        std::string o;
        for (size_t i = 0; i < s.size();) {
            size_t j = i;
            while (j < s.size() && s[j] == s[i]) j++;
            o += s[i];
            o += char('0' + (j - i) % 60);
            i = j;
        }
        return o;
    }
};
struct NoCodec : Codec {
    std::string encode(const std::string &s) const override { return s; }
};
__attribute__((noinline)) static size_t archive_all(const std::vector<std::unique_ptr<Codec>> &c, const std::string &t) {
    size_t n = 0;
    for (auto &x : c) n += x->encode(t).size();
    return n;
}
static void on_virt() {
    std::vector<std::unique_ptr<Codec>> c;
    c.emplace_back(new NoCodec);
    c.emplace_back(new RleCodec);
    std::string t;
    for (int i = 0; i < 20000; i++) t += char('a' + i / 3 % 26);
    REPEAT(acc = acc + archive_all(c, t));
}
struct Ledger {
    std::mutex m;
    long sum = 0;
    void post(long v);
};
void Ledger::post(long v) {
    std::lock_guard<std::mutex> g(m);
    sum += v;
}
__attribute__((noinline)) static void settle(Ledger &l, int n) {
    std::function<void(int)> f = [&](int i) { l.post(i); };
    for (int i = 0; i < n; i++) f(i);
}
static void on_wait() {
    static Ledger l;
    std::thread([] {
        std::lock_guard<std::mutex> g(l.m);
        usleep(450000);
    }).detach();
    usleep(4000);
    settle(l, 3);
}
static const way ways[] = {{"func", on_func}, {"virt", on_virt}, {"wait", on_wait}, {0, 0}};
int main(int, char **v) { serve_epoll(atoi(v[1]), ways); }
