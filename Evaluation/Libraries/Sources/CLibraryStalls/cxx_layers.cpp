// libstdc++, Eigen and Boost where the program's function is deep within templates, or calls through several layers.
#include "tables.h"

#include <boost/property_tree/json_parser.hpp>
#include <boost/property_tree/ptree.hpp>
#include <Eigen/Dense>
#include <filesystem>
#include <functional>
#include <queue>
#include <shared_mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace depot {

static std::shared_mutex mutex;
static volatile long sum;

int listHeaders(moment end) {
    while (moment_now() < end) {
        for (const auto &entry : std::filesystem::recursive_directory_iterator("/usr/include/linux")) {
            sum = sum + static_cast<long>(entry.path().native().size());
            if (moment_now() >= end) break;
        }
    }
    return 0;
}

struct Slot { int row; };
struct SlotHash { std::size_t operator()(const Slot &slot) const; };
bool operator==(const Slot &left, const Slot &right) { return left.row == right.row; }

[[gnu::noinline]] std::size_t SlotHash::operator()(const Slot &slot) const {
    std::size_t value = 17;
    for (int round = 0; round < 20000; round++) value = (value ^ static_cast<std::size_t>(slot.row)) * 1099511628211u;
    return value;
}

int countSlots(moment end) {
    while (moment_now() < end) {
        std::unordered_map<Slot, int, SlotHash> counts;
        for (int row = 0; row < 200; row++) counts[Slot{row % 50}]++;
        sum = sum + static_cast<long>(counts.size());
    }
    return 0;
}

[[gnu::noinline]] bool isLater(int left, int right) {
    int weight = 0;
    for (int round = 1; round < 5000; round++) weight += (left ^ round) % 7 - (right ^ round) % 7;
    sum = sum + weight;
    return left > right;
}

int scheduleTours(moment end) {
    while (moment_now() < end) {
        std::priority_queue<int, std::vector<int>, bool (*)(int, int)> tours(isLater);
        for (int index = 0; index < 300; index++) tours.push(index * 7919 % 300);
        while (!tours.empty()) tours.pop();
    }
    return 0;
}

[[gnu::noinline]] int parseWeight(const std::string &text) {
    if (text.empty()) throw std::invalid_argument("weight");
    return static_cast<int>(text.size());
}

int importWeights(moment end) {
    while (moment_now() < end) {
        try {
            sum = sum + parseWeight(std::string());
        } catch (const std::exception &error) {
            sum = sum + error.what()[0];
        }
    }
    return 0;
}

[[gnu::noinline]] void weighPallet(int pallet) {
    for (int round = 0; round < 5000; round++) sum = sum + (pallet ^ round);
}

int visitPallets(moment end) {
    std::function<void(int)> inner = weighPallet;
    std::function<void(int)> middle = [inner](int pallet) { inner(pallet + 1); };
    std::function<void(int)> outer = [middle](int pallet) { middle(pallet * 2); };
    while (moment_now() < end) outer(3);
    return 0;
}

int multiplyRoutes(moment end) {
    Eigen::MatrixXd routes = Eigen::MatrixXd::Constant(160, 160, 0.5);
    while (moment_now() < end) {
        Eigen::MatrixXd product = routes * routes;
        sum = sum + static_cast<long>(product(3, 4));
    }
    return 0;
}

int readInventory(moment end) {
    std::string text = "{\"items\": [";
    for (int index = 0; index < 400; index++) text += "{\"id\": " + std::to_string(index) + ", \"name\": \"box\"},";
    text += "{}]}";
    while (moment_now() < end) {
        std::istringstream input(text);
        boost::property_tree::ptree tree;
        boost::property_tree::read_json(input, tree);
        sum = sum + static_cast<long>(tree.size());
    }
    return 0;
}

int readPrices(moment end) {
    std::shared_lock<std::shared_mutex> guard(mutex);
    sum = sum + 1;
    return 0;
}

static int lockForWriting(void *) {
    mutex.lock();
    return 0;
}

static int unlockForWriting(void *) {
    mutex.unlock();
    return 0;
}

static void holdForWriting(moment end) { hold_until(end, "price-writer", lockForWriting, unlockForWriting, nullptr); }

}  // namespace depot

#define SPELLED(name, mangled) "depot::" name "(unsigned long)|depot::" name "|" mangled

extern "C" const struct stall cxx_layer_stalls[] = {
    {"cxx-filesystem-walk", "cpu|syscall", SPELLED("listHeaders", "_ZN5depot11listHeadersEm"), nullptr, nullptr,
     "std::filesystem::recursive_directory_iterator", nullptr, nullptr, depot::listHeaders, 0},
    {"cxx-unordered-map-hash", "cpu",
     "depot::SlotHash::operator()(depot::Slot const&) const|depot::SlotHash::operator()|_ZNK5depot8SlotHashclERKNS_4SlotE",
     SPELLED("countSlots", "_ZN5depot10countSlotsEm"), nullptr, "std::unordered_map with a slow hash", nullptr, nullptr,
     depot::countSlots, 0},
    {"cxx-priority-queue", "cpu", "depot::isLater(int, int)|depot::isLater|_ZN5depot7isLaterEii",
     SPELLED("scheduleTours", "_ZN5depot13scheduleToursEm"), nullptr, "std::priority_queue with a slow comparison", nullptr,
     nullptr, depot::scheduleTours, 0},
    {"cxx-exceptions", "cpu",
     "depot::parseWeight|depot::importWeights|depot::importWeights(unsigned long)|_ZN5depot13importWeightsEm|"
     "depot::parseWeight(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&)|"
     "_ZN5depot11parseWeightERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
     nullptr, nullptr, "exceptions for every line: the unwinder runs on top of the thrower, the rest in the catcher", nullptr,
     nullptr, depot::importWeights, 0},
    {"cxx-function-layers", "cpu", "depot::weighPallet(int)|depot::weighPallet|_ZN5depot11weighPalletEi",
     SPELLED("visitPallets", "_ZN5depot12visitPalletsEm"), nullptr, "three layers of std::function above the slow function",
     nullptr, nullptr, depot::visitPallets, 0},
    {"eigen-product", "cpu", SPELLED("multiplyRoutes", "_ZN5depot14multiplyRoutesEm"), nullptr, nullptr,
     "a product of matrices in Eigen: templates in the program", nullptr, nullptr, depot::multiplyRoutes, 0},
    {"boost-property-tree", "cpu", SPELLED("readInventory", "_ZN5depot13readInventoryEm"), nullptr, nullptr,
     "JSON by Boost's property tree: templates in the program", nullptr, nullptr, depot::readInventory, 0},
    {"cxx-shared-mutex", "lock", SPELLED("readPrices", "_ZN5depot10readPricesEm"), nullptr, "price-writer",
     "std::shared_mutex, held for writing by another thread", nullptr, depot::holdForWriting, depot::readPrices, 0},
    {},
};
