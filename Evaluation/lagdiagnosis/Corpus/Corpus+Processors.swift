internal import LagMonitor
internal import StallFixtures

// The main thread is runnable, but has no processor.

extension Corpus {
    static let processors: [Scenario] = [
        Scenario(
            "starved",
            [.runqueue],
            ["renderPreview"],
            "it computes at a low priority on a processor that two busy threads share with it",
            making: {
                guard corpus_processors() > 1 else {
                    throw Unavailable("only one processor, so the watchdog would not run either")
                }
                let processor = corpus_first_processor()
                return { end in
                    for _ in 0..<2 {
                        try helper("spinner") {
                            _ = corpus_pin_thread(processor)
                            _ = countPrimes(until: end)
                        }
                    }
                    let code = corpus_pin_thread(processor)
                    guard code == 0 else { throw DiagnosisFailure("sched_setaffinity: \(reasonText(code))") }
                    let lowered = corpus_lower_thread()
                    guard lowered == 0 else { throw DiagnosisFailure("setpriority: \(reasonText(lowered))") }
                    return renderPreview(until: end)
                }
            }
        ).with {
            $0.runsAlone = true
            $0.expectsRunDelay = true
        }
    ]
}

@inline(never)
func renderPreview(until end: MonotonicTime) -> Int {
    var pixel = 7
    while MonotonicTime.now < end {
        for index in 0..<2_000 { pixel = (pixel &* 29) ^ index }
    }
    return pixel
}
