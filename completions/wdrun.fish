# Completion of wdrun(1) for fish: its options and their values, then COMMAND
# with the completion that COMMAND has.

# Prints COMMAND and its arguments up to the cursor, each with a zero byte. Prints
# nothing where the cursor is before COMMAND, or the options take no COMMAND.
function __wdrun_command
    set -l tokens (commandline -opc) (commandline -ct)
    set -e tokens[1]
    argparse -s t/timeout= i/idle-timeout= idle-unless-busy u/until= \
        until-failure= until-grace= k/kill-after= s/signal= p/preserve-status \
        idle-after-exit= max-after-exit= survivors= keep= die-with-parent die-with-reader \
        f/foreground setsid pty tee= no-stdin l/lock= w/lock-wait= \
        E/lock-exit= c/cleanup= n/name= registry= report= heartbeat= list explain= json \
        cancel= reap \
        q/quiet v/verbose h/help V/version -- $tokens 2>/dev/null
    or return 1
    set -q argv[1]
    and test -z "$_flag_list$_flag_explain$_flag_cancel$_flag_reap"
    and string join0 -- $argv
end

# The cursor is before COMMAND; behind it, options belong to COMMAND.
function __wdrun_takes_options
    set -l command (__wdrun_command | string split0)
    not set -q command[2]
end

# As __fish_complete_subcommand, which does not know options like -t5, and takes an
# empty COMMAND for no COMMAND. The last word is as it was typed.
function __wdrun_complete_command
    set -l command (__wdrun_command | string split0)
    set -q command[1]
    and complete -C (string join -- ' ' (string escape -- $command[1..-2]) "$command[-1]")
end

# After a number its units, else common values.
function __wdrun_durations
    set -l number (string match -r -- '[0-9]*\.?[0-9]+' (commandline -ct))
    if set -q number[1]
        printf '%s\n' $number[1]{ms\tmilliseconds,s\tseconds,m\tminutes,h\thours,d\tdays,w\tweeks}
    else
        printf '%s\n' 1s 10s 1m 10m 1h never\t'no limit'
    end
end

# Offers IDs and names of the runs on record. A name that JSON has to escape is
# left out; the ID of its run is offered.
function __wdrun_runs
    set -l tokens (commandline -opc)
    set -l program $tokens[1]
    set -l registry
    argparse -i registry= -- $tokens 2>/dev/null
    set -q _flag_registry
    and set registry --registry=(string replace -r '^~/' "$HOME/" -- $_flag_registry[-1])
    type -q -- $program
    or return
    for line in ($program --list --json $registry 2>/dev/null)
        string match -qr -- '^\{"id":"(?<id>[^"]*)","name":(?<quoted>"[^"\\\\]+")?' $line
        or continue
        set -l name (string trim -c '"' -- "$quoted")
        printf '%s\t%s\n' $id "$name"
        test -z "$name"
        or printf '%s\t%s\n' $name $id
    end
end

# tests/completions.bats holds these against --help.
complete -c wdrun -f
complete -c wdrun -n __wdrun_takes_options -s t -l timeout -x -a '(__wdrun_durations)' -d 'stop COMMAND after this time'
complete -c wdrun -n __wdrun_takes_options -s i -l idle-timeout -x -a '(__wdrun_durations)' -d 'stop COMMAND when silent for this time'
complete -c wdrun -n __wdrun_takes_options -l idle-unless-busy -d 'no such stop while COMMAND uses CPU or I/O'
complete -c wdrun -n __wdrun_takes_options -s u -l until -x -d 'this in the output says that the work is done'
complete -c wdrun -n __wdrun_takes_options -l until-failure -x -d 'the same, with status 1'
complete -c wdrun -n __wdrun_takes_options -l until-grace -x -a '(__wdrun_durations)' -d 'stop COMMAND when silent for this time after TEXT'
complete -c wdrun -n __wdrun_takes_options -s k -l kill-after -x -a '(__wdrun_durations)' -d 'SIGKILL, this time after a stop'
complete -c wdrun -n __wdrun_takes_options -s s -l signal -x -a 'HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM CHLD CONT STOP TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS RTMIN RTMAX' -d 'first signal of a stop'
complete -c wdrun -n __wdrun_takes_options -s p -l preserve-status -d "COMMAND's status even on a timeout"
complete -c wdrun -n __wdrun_takes_options -l idle-after-exit -x -a '(__wdrun_durations)' -d 'stop survivors idle for this time'
complete -c wdrun -n __wdrun_takes_options -l max-after-exit -x -a '(__wdrun_durations)' -d 'stop survivors after this time'
complete -c wdrun -n __wdrun_takes_options -l survivors -x -a 'kill wait leave' -d 'what becomes of survivors'
complete -c wdrun -n __wdrun_takes_options -l keep -x -d 'let this daemon live'
complete -c wdrun -n __wdrun_takes_options -l die-with-parent -d 'stop when the parent process dies'
complete -c wdrun -n __wdrun_takes_options -l die-with-reader -d 'stop when nobody reads standard output'
complete -c wdrun -n __wdrun_takes_options -s f -l foreground -d "keep COMMAND in wdrun's process group"
complete -c wdrun -n __wdrun_takes_options -l setsid -d 'give COMMAND a session of its own'
complete -c wdrun -n __wdrun_takes_options -l pty -d 'give COMMAND a terminal of its own'
complete -c wdrun -n __wdrun_takes_options -l tee -r -F -d 'append a copy of the output to a file'
complete -c wdrun -n __wdrun_takes_options -l no-stdin -d 'stdin is /dev/null; implies --setsid'
complete -c wdrun -n __wdrun_takes_options -s l -l lock -r -F -d 'hold a lock for the run'
complete -c wdrun -n __wdrun_takes_options -s w -l lock-wait -x -a '(__wdrun_durations)' -d 'wait for a held lock'
complete -c wdrun -n __wdrun_takes_options -l report -r -F -d 'tell how the run ended, as JSON'
complete -c wdrun -n __wdrun_takes_options -l heartbeat -x -a '(__wdrun_durations)' -d 'a line after each such time of silence'
complete -c wdrun -n __wdrun_takes_options -s E -l lock-exit -x -a '0 75' -d 'status when a lock stays held'
complete -c wdrun -n __wdrun_takes_options -s c -l cleanup -r -F -d "remove COMMAND's own lock"
complete -c wdrun -n __wdrun_takes_options -s n -l name -x -d 'put the run on record, by a name'
complete -c wdrun -n __wdrun_takes_options -l registry -x -a '(__fish_complete_directories)' -d "directory of the record"
complete -c wdrun -n __wdrun_takes_options -l list -d 'show the runs on record and exit'
complete -c wdrun -n __wdrun_takes_options -l explain -x -a '(__wdrun_runs)' -d 'say what a PID or RUN waits for'
complete -c wdrun -n __wdrun_takes_options -l json -d 'show them as JSON'
complete -c wdrun -n __wdrun_takes_options -l cancel -x -a '(__wdrun_runs)' -d 'stop RUN and exit'
complete -c wdrun -n __wdrun_takes_options -l reap -d 'end what killed runs have left and exit'
complete -c wdrun -n __wdrun_takes_options -s q -l quiet -d 'print errors only'
complete -c wdrun -n __wdrun_takes_options -s v -l verbose -d 'print every decision'
complete -c wdrun -n __wdrun_takes_options -s h -l help -d 'show help and exit'
complete -c wdrun -n __wdrun_takes_options -s V -l version -d 'show the version and exit'
complete -c wdrun -a '(__wdrun_complete_command)'
