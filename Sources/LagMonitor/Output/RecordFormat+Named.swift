// The formats that settings name: available if their product is enabled.
extension RecordFormat {
    /// The format of one of ``names``; it is not ``isAvailable`` if its product is not enabled.
    package init?(named name: String, from delivery: DeliveryParts? = .enabled) {
        guard Self.names.contains(name) else { return nil }
        let known = [.native] + (delivery?.formats ?? [])
        self = known.first { $0.name == name } ?? RecordFormat(name, nil, Self.native.lateField)
    }

    /// The same format in its present state: its product may have been enabled since the settings were read.
    package var current: RecordFormat { isAvailable ? self : RecordFormat(named: name) ?? self }

    /// Whether lines can be written in it.
    package var isAvailable: Bool { layout != nil || self == .native }
}
