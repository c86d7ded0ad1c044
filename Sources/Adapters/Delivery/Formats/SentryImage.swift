internal import LagOutput

/// A file from which code was loaded, as an entry of Sentry's `debug_meta.images`.
struct SentryImage: Equatable {
    /// The whole build-id, hex: Sentry's `code_id`.
    let buildID: String
    let file: String?
    /// The address of the file's address 0 in the process.
    let address: UInt64

    /// Sentry's `debug_id`: the build-id's first 16 bytes as a GUID, whose first three parts are little-endian; a shorter one is
    /// filled with zeros.
    var debugID: String {
        var digits = Array(buildID.utf8.prefix(32))
        while digits.count < 32 { digits.append(UInt8(ascii: "0")) }
        var text: [UInt8] = []
        for part in [[3, 2, 1, 0], [5, 4], [7, 6], [8, 9], [10, 11, 12, 13, 14, 15]] {
            if !text.isEmpty { text.append(UInt8(ascii: "-")) }
            for byte in part { text += digits[2 * byte...2 * byte + 1] }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The images of a stack, each once, in the order of the frames.
    static func all(of frames: [StallRecord.Frame]) -> [SentryImage] {
        var images: [SentryImage] = []
        for frame in frames {
            guard let buildID = frame.buildID, Hexadecimal.isText(buildID.utf8, of: 1...StringCaps.buildID),
                let offset = frame.offset, offset <= frame.pc
            else { continue }
            let image = SentryImage(buildID: buildID, file: frame.module, address: frame.pc - offset)
            if !images.contains(image) { images.append(image) }
        }
        return images
    }
}
