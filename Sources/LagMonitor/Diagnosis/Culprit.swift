/// The frame to blame for a stall, from several samples of the thread, and the sample that represents them all.
///
/// A sample weighs as much as the time it covers: the samples come at growing gaps, so counting them would favour the
/// beginning. A function *covers* when the stacks it is in make up more than half of the weight of all stacks. Recursion
/// counts once a stack.
///
/// Blamed is, of the functions that cover, the first kind of these that there is, and of that kind the one nearest
/// to the leaf (where stacks disagree: the one that is nearest in the most weight):
/// 1. code of the program;
/// 2. the program's entry function (`main`), when no run loop or queue stands between it and the leaf: it did the work itself;
/// 3. code in the program's files that has no name;
/// 4. code of a library, first what has a name; then that of the C library and of languages' runtimes and interpreters, where every program ends up;
/// 5. the entry function, else what runs the callbacks: so the time went to many things.
///
/// What runs the callbacks is known by its names, and, of a loop of another process, by its stack while it waits: of a stalled stack what is on
/// that too.
///
/// So when a function calls three others for a third each, it is blamed, and when it calls only one, that one is. Where
/// nothing covers, the same order is applied to the heaviest stack alone. Thunks are never blamed.
///
/// ``confidence`` = `coverage` × `kind` × `samples` × `completeness` × `names` × `lines`, where
/// - `coverage` is the share of the weight of *all* samples, also of those without a stack, whose stacks hold the function;
/// - `kind` is 1 for code of the program, 0.7 for a lambda that only the name of the library's template says which calls it, 0.6 for what may be a library's that was linked in, 0.2 for that of the C library and of languages' runtimes and for what may be that (all of a static program that names nothing), otherwise 0.5;
/// - `samples` is 1 − 0.3 / n for n samples of the same weight (for other weights the number that says as much, (Σw)² / Σw²,
///   after Kish, "Survey Sampling", 1965): 0.7 for one sample, 0.9 for three;
/// - `completeness` is 1 − 0.2 × the share of what covers that is of stacks whose root was not reached;
/// - `names` is 1 − 0.5 × the share of what covers in which code of the program's without a name, or a language's function whose
///   name was lost, lies nearer to the leaf: that may be what did it;
/// - `lines` is 1 − 0.1 × the share of what covers in which the blamed function itself ran and has no line: the compiler may have put another function into it, which only
///   lines show.
///
/// Pure; any thread. Takes time in proportion to the number of frames.
package struct Culprit: Sendable, Hashable {
    /// Index of the representative stack: of the stacks that hold the blamed function, the one that makes up most of
    /// the weight together with those like it (the same functions in the same order, recursion left out); of those alike
    /// the heaviest one that has the blamed function's line, else the heaviest, then the first.
    package let representative: Int
    /// How many samples found a stack like the representative.
    package let samplesMatched: UInt64
    /// Their share of the weight of all samples, 0…1.
    package let matchedShare: Double
    /// Index of the blamed frame among the representative's, leaf first; nil when no frame can be blamed.
    package let frameIndex: Int?
    /// How sure the blame is, 0…1; 0 without a blamed frame.
    package let confidence: Double

    /// Nil when no sample has a stack.
    package init?(stacks: [CulpritStack]) {
        let search = CulpritSearch(stacks)
        guard search.stackWeight > 0 else { return nil }
        let blamed = search.blamed()
        let groups = search.groups(holding: blamed?.function)
        // Of equal ones the first, whatever the order of a dictionary.
        guard let group = groups.max(by: { ($0.weight, -$0.first) < ($1.weight, -$1.first) }) else { return nil }
        representative = group.heaviest
        samplesMatched = group.samples
        matchedShare = group.weight / search.totalWeight
        frameIndex = blamed.flatMap { blamed in
            stacks[group.heaviest].frames.firstIndex { $0.function == blamed.function }
        }
        confidence = blamed.map { search.confidence(in: $0) } ?? 0
    }
}
