# server.tcl PORT FIFO
proc block path {
    switch $path {
        /sleep { after 600 }
        /hang { after 8000 }
        /compute { set end [expr {[clock milliseconds] + 600}]; while {[clock milliseconds] < $end} {} }
        /read { set pipe [open $::fifo]; read $pipe; close $pipe }
    }
}
proc serve channel {
    if {[gets $channel line] < 0} {
        if {[eof $channel]} { close $channel }
    } elseif {$line eq ""} {
        block [lindex $::request($channel) 1]
        puts -nonewline $channel "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n"
        unset ::request($channel)
    } elseif {![info exists ::request($channel)]} {
        set ::request($channel) $line
    }
}
proc accept {channel address port} {
    fconfigure $channel -blocking 0 -buffering none -translation {crlf binary}
    fileevent $channel readable [list serve $channel]
}
set fifo [lindex $argv 1]
socket -server accept -myaddr 127.0.0.1 [lindex $argv 0]
vwait forever
