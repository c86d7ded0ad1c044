internal import LagMonitor

// The settings of lagmond in addition to the monitor's.
extension SettingKey {
    static let config = SettingKey("config", .file, option: "--config", inFile: false)
    static let duration = SettingKey("duration_s", .positiveNumber(upTo: 31_536_000), option: "--duration")
    static let truth = SettingKey("truth.path", .file, option: "--truth")

    static let listen = SettingKey(
        "http.listen",
        .custom(allowed: ListenAddress.allowed, validate: ListenAddress.validationError),
        option: "--listen"
    )

    /// No option: every user of the machine can read a command line.
    static let headers = SettingKey(
        "output.headers",
        .custom(allowed: OutputHeaders.allowed, validate: OutputHeaders.validationError)
    )

    static let onHang = SettingKey(
        "command.on_hang",
        .custom(allowed: CommandPolicy.OnHang.allowed, validate: CommandPolicy.OnHang.validationError),
        option: "--on-hang"
    )
    static let onHangAfter = SettingKey("command.on_hang_after_s", .positiveNumber(upTo: 86_400), option: "--on-hang-after")
    static let requireWatch = SettingKey("command.require_watch", .choice(["no", "yes"]), option: "--require-watch")
    static let perfMap = SettingKey("command.perf_map", .choice(["no", "yes"]), option: "--perf-map")
    static let restart = SettingKey("command.restart", .choice(["never", "on-failure"]), option: "--restart")
    static let restartDelay = SettingKey("command.restart_delay_ms", .wholeNumber(1...hourMilliseconds))
    static let restartLongestDelay = SettingKey("command.restart_max_delay_ms", .wholeNumber(1...hourMilliseconds))
    static let restartHealthy = SettingKey("command.restart_healthy_s", .positiveNumber(upTo: 86_400))
    static let restartCount = SettingKey("command.restart_count", .wholeNumber(0...1000))
    static let restartWindow = SettingKey("command.restart_window_s", .positiveNumber(upTo: 604_800))
    static let stopGrace = SettingKey("command.stop_grace_s", .positiveNumber(upTo: 3600))

    /// How commands are supervised; in a target, without the prefix `command.`.
    static let commandSettings = [
        onHang, onHangAfter, restart, restartDelay, restartLongestDelay, restartHealthy, restartCount, restartWindow, stopGrace,
    ]

    static let process = SettingKey("watch.process", .patterns, option: "--process")
    static let thread = SettingKey("watch.thread", .patterns, option: "--thread")

    static let attribute = SettingKey("watch.attribute", .patterns, option: "--attribute")
    static let withoutAttribute = SettingKey("watch.without_attribute", .patterns, option: "--without-attribute")

    /// Which loops of other programs are watched, and which attributes of their published contexts are read.
    static let watchSettings = [process, thread, attribute, withoutAttribute]

    static let all =
        [config, duration] + outputSettings + [headers, truth, listen, requireWatch, perfMap] + commandSettings + watchSettings
        + monitorSettings
}
