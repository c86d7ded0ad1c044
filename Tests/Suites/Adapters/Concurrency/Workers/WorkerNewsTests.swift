import Testing

@testable import LagMonitorConcurrency

struct WorkerNewsTests {
    private func news() -> WorkerNews {
        var news = WorkerNews(at: 1000)
        // Those that are there already.
        #expect(news.search(threads: 4, hasEnded: false, at: 1010, last: 1000) == 1000)
        #expect(news.search(threads: 4, hasEnded: false, at: 1020, last: 1010) == 1000)
        return news
    }

    @Test func `nothing is searched for while nothing comes or goes`() {
        var news = news()
        #expect(!news.isExpecting)
        #expect(news.search(threads: 4, hasEnded: false, at: 1030, last: 1020) == nil)
    }

    /// Its name, by which it is found, it gives itself when it first runs.
    @Test func `a thread that has just been made is searched for twice`() {
        var news = news()
        #expect(news.search(threads: 5, hasEnded: false, at: 1050, last: 1040) == 1040)
        #expect(news.isExpecting)
        // Found now, it was there since it was counted.
        #expect(news.search(threads: 5, hasEnded: false, at: 1100, last: 1090) == 1040)
        #expect(!news.isExpecting)
        #expect(news.search(threads: 5, hasEnded: false, at: 1150, last: 1140) == nil)
    }

    @Test func `threads that come one after another are each searched for again`() {
        var news = news()
        #expect(news.search(threads: 5, hasEnded: false, at: 1050, last: 1040) == 1040)
        #expect(news.search(threads: 6, hasEnded: false, at: 1100, last: 1090) == 1040)
        #expect(news.search(threads: 6, hasEnded: false, at: 1150, last: 1140) == 1090)
        #expect(news.search(threads: 6, hasEnded: false, at: 1200, last: 1190) == nil)
    }

    @Test func `one that took the place of another is found within a second, or when the other is known to have ended`() {
        var news = news()
        let second: UInt64 = 1_000_000_000
        #expect(news.search(threads: 4, hasEnded: false, at: 1019 + second, last: 1010 + second) == nil)
        // It came at any time since the last search.
        #expect(news.search(threads: 4, hasEnded: false, at: 1020 + second, last: 1010 + second) == 1020)
        #expect(news.search(threads: 4, hasEnded: true, at: 1030 + second, last: 1025 + second) == 1025 + second)
    }
}
