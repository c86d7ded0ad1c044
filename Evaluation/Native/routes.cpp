//! build: g++ -O2 -gsplit-dwarf -std=c++17 $S -o $O
//! part: open
//! packages: libboost-dev
//! stall dij | RoadMap::shortest | RoadMap::shortest|on_route | cpu
//! stall mi | Registry::lookup_all | Registry::lookup_all|on_lookup | cpu
//! stall spirit | parse_prices | parse_prices|on_prices | cpu
#include "stall.h"
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/multi_index_container.hpp>
#include <boost/multi_index/ordered_index.hpp>
#include <boost/multi_index/hashed_index.hpp>
#include <boost/multi_index/member.hpp>
#include <boost/spirit/include/qi.hpp>
#include <boost/multiprecision/cpp_int.hpp>
#include <string>
static volatile long acc;
namespace mi = boost::multi_index;
namespace qi = boost::spirit::qi;
using G = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, boost::property<boost::edge_weight_t, int>>;
struct RoadMap {
    G g{2000};
    RoadMap() {
        for (int i = 0; i < 2000; i++)
            for (int k = 1; k < 6; k++) boost::add_edge(i, (i * k + 7 * k) % 2000, 1 + (i * k) % 17, g);
    }
    int shortest(int from) const;
};
int RoadMap::shortest(int f) const {
    std::vector<int> d(2000);
    boost::dijkstra_shortest_paths(g, f, boost::distance_map(&d[0]));
    return d[77];
}
static void on_route() {
    static RoadMap m;
    uint64_t e = in_ms(430);
    int k = 0;
    while (ms_left(e)) acc = acc + m.shortest(k++ % 2000);
}
struct User {
    int id;
    std::string n;
};
struct Registry {
    mi::multi_index_container<User,
        mi::indexed_by<mi::ordered_unique<mi::member<User, int, &User::id>>, mi::hashed_non_unique<mi::member<User, std::string, &User::n>>>>
        c;
    Registry() {
        for (int i = 0; i < 5000; i++) c.insert({i, "user" + std::to_string(i % 701)});
    }
    long lookup_all() {
        long s = 0;
        for (int i = 0; i < 2000; i++) {
            auto r = c.get<1>().equal_range("user" + std::to_string(i * 7 % 701));
            for (auto x = r.first; x != r.second; ++x) s += x->id;
            auto q = c.find(i * 3 % 5000);
            if (q != c.end()) s += q->id;
        }
        return s;
    }
};
static void on_lookup() {
    static Registry r;
    REPEAT(acc = acc + r.lookup_all());
}
static size_t parse_prices(const std::string &s) {
    std::vector<double> v;
    auto b = s.begin();
    qi::phrase_parse(b, s.end(), qi::double_ % ',', qi::space, v);
    return v.size();
}
static void on_prices() {
    std::string s = "1";
    for (int i = 0; i < 4000; i++) s += ", " + std::to_string(i * 1.37);
    REPEAT(acc = acc + parse_prices(s));
}
static const way ways[] = {{"dij", on_route}, {"mi", on_lookup}, {"spirit", on_prices}, {0, 0}};
int main(int, char **v) { serve_epoll(atoi(v[1]), ways); }
