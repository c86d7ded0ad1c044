/// One stretch of work of a sampled loop.
package struct SampledStretch: Sendable, Equatable {
    /// The beacon's word while it lasts.
    package let word: UInt64
    /// The beacon's time of its beginning is `began.likely`.
    package let began: TimeBounds
    /// Nil: it is in progress.
    package var ended: TimeBounds?
    /// When it most likely began, if `began.likely` is the time from which on it is certain; nil: `began.likely`.
    package var mayHaveBegun: UInt64?
    /// The thread may have been in another stretch before that, unseen; since then it was in this one all the time.
    package var provedSince: UInt64
}

/// The last two stretches of work: one sample may find the end of one and the beginning of the next.
package struct SampledStretches: Sendable, Equatable {
    package private(set) var present: SampledStretch?
    package private(set) var last: SampledStretch?

    package init() {}

    /// - Parameter time: when it most likely began, if `began.likely` is the time from which on it is certain.
    package mutating func begin(word: UInt64, at began: TimeBounds, mayHaveBegun time: UInt64? = nil) {
        present = SampledStretch(word: word, began: began, mayHaveBegun: time, provedSince: began.latest)
    }

    /// Updates the bounds of the present one's beginning; its likely time stays.
    /// - Parameters:
    ///   - time: when it most likely began, if that is known to be earlier.
    ///   - gap: the time of the last sample before which it may have iterated unseen, in nanoseconds, as far as the bounds do not
    ///     show that; 0: none.
    package mutating func refine(_ began: TimeBounds, mayHaveBegun time: UInt64?, gap: UInt64) {
        guard let present, began.likely == present.began.likely else { return }
        let provedSince = max(present.provedSince, max(began.latest, gap))
        self.present = SampledStretch(word: present.word, began: began, mayHaveBegun: time, provedSince: provedSince)
    }

    package mutating func end(at ended: TimeBounds) {
        last = present
        last?.ended = ended
        present = nil
    }

    /// The stretch with this word, if it was published with that time.
    package func stretch(word: UInt64, publishedNanoseconds: UInt64) -> SampledStretch? {
        let stretch = present?.word == word ? present : last?.word == word ? last : nil
        guard let stretch, stretch.began.likely == publishedNanoseconds else { return nil }
        return stretch
    }

    /// The last stretch, if it was published with this beginning.
    package func last(publishedNanoseconds: UInt64) -> SampledStretch? {
        last?.began.likely == publishedNanoseconds ? last : nil
    }
}
