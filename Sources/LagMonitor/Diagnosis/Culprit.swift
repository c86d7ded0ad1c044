/// The frame to blame for a stall, from several samples of the thread, and the sample that represents them all.
///
/// A sample weighs as much as the time that it covers: the gaps between samples grow, so counting them would favour the
/// beginning. A function *covers* if the stacks that contain it make up more than half of the weight of all stacks. Recursion
/// counts once per stack.
///
/// Of the functions that cover, the first kind in this list that exists is blamed, and of that kind the function nearest to the
/// leaf (if stacks disagree: the one that is nearest in the most weight):
/// 1. code of the program;
/// 2. the program's entry function (`main`), if no run loop or queue is between it and the leaf: it did the work itself;
/// 3. code in the program's files that has no name;
/// 4. code of a library, first code with a name; then that of the C library and of languages' runtimes and interpreters, where
///    every program ends up;
/// 5. the entry function, otherwise what runs the callbacks: then the time went to many things.
///
/// What runs the callbacks is known by its names. For a loop of another process it is known by its stack while it waits: the part
/// of a stalled stack that is also on that one.
///
/// So if a function calls three others for a third each, it is blamed; if it calls only one, that one is. If nothing covers, the
/// same order is applied to the heaviest stack alone. Thunks are never blamed.
///
/// ``confidence`` = `coverage` × `kind` × `samples` × `completeness` × `names` × `lines`, where
/// - `coverage` is the share of the weight of *all* samples, including those without a stack, whose stacks contain the function;
/// - `kind` is 1 for code of the program, 0.7 for a lambda whose call is known only from the name of the library's template, 0.6
///   for what may be a library's that was linked in, 0.2 for code of the C library and of languages' runtimes and for what may be
///   that (all of a static program without names), otherwise 0.5;
/// - `samples` is 1 − 0.3 / n for n samples of the same weight (for other weights the equivalent number, (Σw)² / Σw², after Kish,
///   "Survey Sampling", 1965): 0.7 for one sample, 0.9 for three;
/// - `completeness` is 1 − 0.2 × the share, of the covering stacks, of those whose root was not reached;
/// - `names` is 1 − 0.5 × the share, of the covering stacks, in which the program's code without a name, or a language's function
///   whose name was lost, is nearer to the leaf: that may be the cause;
/// - `lines` is 1 − the share, of the covering stacks, in which the blamed function of the program has no line, times 0.13 if its
///   caller's instruction names it; if a pointer called it, times 0.1 if a library outside of its module did and it has called
///   another function, otherwise 0.38; times 0.13 if the call is not known (0.2 where it ran itself). The compiler may have
///   inlined the function to blame into it, and a function that left by a jump has no frame; only lines show both. (Of 751 such
///   stalls of optimised programs without debug information, the right share was 0.86 of those called directly, 0.87 of such
///   callbacks, and 0.60 of all others, without 35 whose inlined function has code of its own, too: none of these was right.)
///
/// Pure; any thread. Takes time in proportion to the number of frames.
package struct Culprit: Sendable, Hashable {
    /// Index of the representative stack. Of the stacks that contain the blamed function, it is the one that makes up most of the
    /// weight together with those like it (the same functions in the same order, without recursion). Of those alike, it is the
    /// heaviest one that has the blamed function's line, otherwise the heaviest, then the first.
    package let representative: Int
    /// How many samples found a stack like the representative.
    package let samplesMatched: UInt64
    /// Their share of the weight of all samples, 0…1.
    package let matchedShare: Double
    /// Index of the blamed frame among the representative's, leaf first; nil if no frame can be blamed.
    package let frameIndex: Int?
    /// How certain the blame is, 0…1; 0 without a blamed frame.
    package let confidence: Double

    /// Nil if no sample has a stack.
    package init?(stacks: [CulpritStack]) {
        let search = CulpritSearch(stacks)
        guard search.stackWeight > 0 else { return nil }
        let blamed = search.blamed()
        let groups = search.groups(holding: blamed?.function)
        // Of equal ones the first, independent of the order of a dictionary.
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
