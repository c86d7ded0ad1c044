// libstdc++. Names are expected as the linker spells them, as demanglers spell them, or without arguments.
#include "tables.h"

#include <algorithm>
#include <condition_variable>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace shop {

static std::mutex mutex;
static std::condition_variable condition;
static bool isReady;
static long sum;

int matchLogLines(moment end) {
    static const std::regex expression("([a-z]+)+ ([0-9]+)-([0-9]+)");
    const std::string line = "requests answered by server 17 at 2024-02-29";
    while (moment_now() < end) {
        std::smatch match;
        sum += std::regex_search(line, match, expression);
    }
    return static_cast<int>(sum);
}

struct Offer {
    std::string name;
    double price;
};

bool isCheaper(const Offer &left, const Offer &right) {
    // Compares by what the price would be on every day of the year.
    double difference = 0;
    for (int day = 1; day <= 365; day++) difference += (left.price - right.price) / day;
    return difference < 0;
}

int sortOffers(moment end) {
    std::vector<Offer> offers;
    for (int index = 0; index < 500; index++) offers.push_back({"offer", static_cast<double>(index * 7919 % 503)});
    while (moment_now() < end) {
        auto copy = offers;
        std::sort(copy.begin(), copy.end(), isCheaper);
        sum += static_cast<long>(copy[0].price);
    }
    return static_cast<int>(sum);
}

int countWords(moment end) {
    while (moment_now() < end) {
        std::map<std::string, int> counts;
        for (int word = 0; word < 200; word++) counts["word " + std::to_string(word * 7919 % 97)]++;
        sum += static_cast<long>(counts.size());
    }
    return static_cast<int>(sum);
}

int printPrices(moment end) {
    while (moment_now() < end) {
        std::ostringstream text;
        for (int price = 0; price < 100; price++) text << "price " << price * 1.5 << '\n';
        sum += static_cast<long>(text.str().size());
    }
    return static_cast<int>(sum);
}

int reserveArticle(moment) {
    std::lock_guard<std::mutex> guard(mutex);
    return static_cast<int>(++sum);
}

int awaitPrices(moment) {
    std::unique_lock<std::mutex> guard(mutex);
    condition.wait(guard, [] { return isReady; });
    return static_cast<int>(++sum);
}

int collectQuotes(moment end) {
    auto quote = std::async(std::launch::async, [end] {
        rest_until(end);
        return 17;
    });
    return quote.get() + static_cast<int>(++sum);
}

/// A tree whose destructor runs through all of it.
struct Branch {
    std::unique_ptr<Branch> left, right;
    std::string label = "a label that is too long to be kept in place";
    ~Branch();
};

// Out of line, like a destructor in a separate source file.
Branch::~Branch() { sum += static_cast<long>(label.size()); }

static std::unique_ptr<Branch> root;

static std::unique_ptr<Branch> grow(int depth) {
    auto branch = std::make_unique<Branch>();
    if (depth > 0) {
        branch->left = grow(depth - 1);
        branch->right = grow(depth - 1);
    }
    return branch;
}

int closeProject(moment) {
    root.reset();
    return static_cast<int>(++sum);
}

static int lockMutex(void *) {
    mutex.lock();
    return 0;
}

static int unlockMutex(void *) {
    mutex.unlock();
    return 0;
}

static int notify(void *) {
    std::lock_guard<std::mutex> guard(mutex);
    isReady = true;
    condition.notify_one();
    return 0;
}

static void holdMutex(moment end) { hold_until(end, "stock-keeper", lockMutex, unlockMutex, nullptr); }
static void notifyLate(moment end) { act_at(end, "price-feed", notify, nullptr); }

static const char *growTree() {
    root = grow(21);
    return nullptr;
}

}  // namespace shop

#define SPELLED(name, mangled) "shop::" name "(unsigned long)|shop::" name "|" mangled

extern "C" const struct stall cxx_stalls[] = {
    {"cxx-regex", "cpu", SPELLED("matchLogLines", "_ZN4shop13matchLogLinesEm"), nullptr, nullptr,
     "std::regex_search: templates in the program", nullptr, nullptr, shop::matchLogLines, 0},
    {"cxx-sort-predicate", "cpu",
     "shop::isCheaper(shop::Offer const&, shop::Offer const&)|shop::isCheaper|_ZN4shop9isCheaperERKNS_5OfferES2_",
     SPELLED("sortOffers", "_ZN4shop10sortOffersEm"), nullptr, "std::sort with a slow predicate", nullptr, nullptr,
     shop::sortOffers, 0},
    {"cxx-map", "cpu", SPELLED("countWords", "_ZN4shop10countWordsEm"), nullptr, nullptr, "std::map of strings", nullptr, nullptr,
     shop::countWords, 0},
    {"cxx-streams", "cpu", SPELLED("printPrices", "_ZN4shop11printPricesEm"), nullptr, nullptr, "std::ostringstream", nullptr,
     nullptr, shop::printPrices, 0},
    {"cxx-mutex", "lock", SPELLED("reserveArticle", "_ZN4shop14reserveArticleEm"), nullptr, "stock-keeper",
     "std::mutex of another thread", nullptr, shop::holdMutex, shop::reserveArticle, 0},
    {"cxx-condition", "lock", SPELLED("awaitPrices", "_ZN4shop11awaitPricesEm"), nullptr, nullptr,
     "std::condition_variable, notified late", nullptr, shop::notifyLate, shop::awaitPrices, 0},
    {"cxx-future", "lock", SPELLED("collectQuotes", "_ZN4shop13collectQuotesEm"), nullptr, nullptr,
     "std::async, and get() at once", nullptr, nullptr, shop::collectQuotes, 0},
    {"cxx-destructors", "cpu", "shop::Branch::~Branch()|shop::Branch::~Branch|_ZN4shop6BranchD2Ev|_ZN4shop6BranchD1Ev",
     SPELLED("closeProject", "_ZN4shop12closeProjectEm"), nullptr, "the destruction of a tree of four million branches", shop::growTree,
     nullptr, shop::closeProject, 0},
    {},
};
