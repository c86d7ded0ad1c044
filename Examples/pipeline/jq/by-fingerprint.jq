# jq -c -n -f by-fingerprint.jq stalls.jsonl: what stalls, worst first. One pass; the memory grows with the number of fingerprints.
# A stall with a begin line counts once, by its last line.
reduce (inputs | select(.event == "stall" and .phase != "begin")) as $stall ({};
    .[$stall.fingerprint] |= {
        fingerprint: $stall.fingerprint,
        stalls: ((.stalls // 0) + 1),
        total_ms: ((.total_ms // 0) + $stall.duration_ms),
        worst_ms: ([.worst_ms // 0, $stall.duration_ms] | max),
        culprit: ($stall.culprit // .culprit),
        cause: $stall.cause
    })
| [.[]] | sort_by(-.total_ms) | .[]
