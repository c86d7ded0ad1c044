<?php
if ($_SERVER['SCRIPT_NAME'] === '/sleep') {
    usleep(600000);
}
echo "hello\n";
