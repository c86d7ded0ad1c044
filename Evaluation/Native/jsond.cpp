//! build: g++ -O2 -std=c++17 -fuse-ld=mold $S -o $O -ltinyxml2 -l:libre2.a -lpthread
//! part: kept
//! packages: nlohmann-json3-dev rapidjson-dev libtinyxml2-dev libre2-dev mold
//! stall sax | PriceHandler::Key|PriceHandler::String|PriceHandler.* | PriceHandler.*|read_prices|on_sax | cpu
//! stall filter | keep_member.*|read_public.*lambda.*|read_public.*operator.* | keep_member.*|read_public.*|on_filter | cpu
//! stall visit | DepthVisitor::VisitEnter|DepthVisitor::.* | DepthVisitor::.*|depth_of|on_visit | syscall
//! stall re2 | scan_log | scan_log|on_re2 | cpu
#include "stall.h"
#include <nlohmann/json.hpp>
#include <rapidjson/reader.h>
#include <tinyxml2.h>
#include <re2/re2.h>
#include <string>
static volatile long acc;
static std::string doc, xml, logs;
struct PriceHandler : rapidjson::BaseReaderHandler<rapidjson::UTF8<>, PriceHandler> {
    unsigned h = 1;
    bool Key(const char *s, rapidjson::SizeType n, bool) {
        for (int k = 0; k < 300; k++)
            for (unsigned i = 0; i < n; i++) h = h * 31 + s[i];
        return true;
    }
};
__attribute__((noinline)) static unsigned read_prices() {
    PriceHandler h;
    rapidjson::StringStream s(doc.c_str());
    rapidjson::Reader r;
    r.Parse(s, h);
    return h.h;
}
static void on_sax() { REPEAT(acc = acc + read_prices()); }
static bool keep_member(int depth, nlohmann::json::parse_event_t ev, nlohmann::json &v) {
    if (ev != nlohmann::json::parse_event_t::key) return true;
    unsigned h = depth;
    for (int k = 0; k < 200; k++)
        for (char c : v.get_ref<const std::string &>()) h = h * 33 + c + k;
    return h % 5 != 0;
}
static size_t read_public() { return nlohmann::json::parse(doc, keep_member).size(); }
static void on_filter() { REPEAT(acc = acc + read_public()); }
struct DepthVisitor : tinyxml2::XMLVisitor {
    int d = 0, m = 0;
    bool VisitEnter(const tinyxml2::XMLElement &e, const tinyxml2::XMLAttribute *) override {
        if (++d > m) m = d;
        if (e.Name()[0] == 'i') usleep(20000);
        return true;
    }
    bool VisitExit(const tinyxml2::XMLElement &) override {
        d--;
        return true;
    }
};
static int depth_of(const std::string &s) {
    tinyxml2::XMLDocument x;
    x.Parse(s.c_str());
    DepthVisitor v;
    x.Accept(&v);
    return v.m;
}
static void on_visit() { acc = acc + depth_of(xml); }
static int scan_log(const std::string &t) {
    static const RE2 r("(\\w+)=(\\d+)\\s+(?:user|host)=(\\S+)");
    re2::StringPiece s(t);
    std::string a, b, c;
    int n = 0;
    while (RE2::FindAndConsume(&s, r, &a, &b, &c)) n++;
    return n;
}
static void on_re2() { REPEAT(acc = acc + scan_log(logs)); }
static const way ways[] = {{"sax", on_sax}, {"filter", on_filter}, {"visit", on_visit}, {"re2", on_re2}, {0, 0}};
int main(int, char **v) {
    doc = "[";
    for (int i = 0; i < 800; i++) doc += (i ? "," : "") + std::string("{\"identifier\":") + std::to_string(i) + ",\"price\":\"12.5\"}";
    doc += "]";
    xml = "<r>";
    for (int i = 0; i < 22; i++) xml += "<item><b/></item>";
    xml += "</r>";
    for (int i = 0; i < 3000; i++) logs += "key" + std::to_string(i) + "=" + std::to_string(i * 7) + " user=joe" + std::to_string(i) + "\n";
    serve_epoll(atoi(v[1]), ways);
}
