# shellcheck shell=sh
# A Slurm of two nodes on this machine, in a folder of its own: its own key, sockets, ports and state. Nothing of an
# installed Slurm is read or written. Sourced by check_slurm.sh.
#   cluster_start DIR     sets SLURM_CONF; 1 where it does not come up, with the logs on stderr
#   cluster_stop          ends its four processes

# A port that nothing listens on, with two more after it.
free_port() {
    port=$((20000 + $$ % 20000))
    while ss -Hltn 2>/dev/null | grep -q ":\($port\|$((port + 1))\|$((port + 2))\) "; do port=$((port + 3)); done
    echo $port
}

cluster_start() {
    cluster=$1 port=$(free_port) host=$(hostname -s)
    mkdir -p "$cluster/state" "$cluster/log"
    chmod 755 "$cluster"
    (umask 077 && head -c 128 /dev/urandom >"$cluster/munge.key")
    munged --force --socket="$cluster/munge.socket" --key-file="$cluster/munge.key" --log-file="$cluster/log/munged.log" \
        --pid-file="$cluster/munged.pid" --seed-file="$cluster/munge.seed" || return 1
    cat >"$cluster/slurm.conf" <<END
ClusterName=gamut
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$cluster/munge.socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
StateSaveLocation=$cluster/state
SlurmdSpoolDir=$cluster/spool-%n
SlurmctldPidFile=$cluster/slurmctld.pid
SlurmdPidFile=$cluster/slurmd-%n.pid
SlurmctldLogFile=$cluster/log/slurmctld.log
SlurmdLogFile=$cluster/log/slurmd-%n.log
ReturnToService=2
SlurmdParameters=config_overrides
KillWait=20
MinJobAge=86400
MaxArraySize=2001
MaxJobCount=10000
SchedulerParameters=sched_min_interval=0,batch_sched_delay=0
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 1)) CPUs=4
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 2)) CPUs=4
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
END
    export SLURM_CONF="$cluster/slurm.conf"
    mkdir -p "$cluster/spool-n1" "$cluster/spool-n2"
    slurmctld && slurmd -N n1 && slurmd -N n2 || { tail -n 5 "$cluster"/log/*.log >&2; return 1; }
    tries=0
    until [ "$(sinfo -h -t idle -o %D 2>/dev/null)" = 2 ]; do
        tries=$((tries + 1))
        [ $tries -lt 300 ] || { tail -n 5 "$cluster"/log/*.log >&2; return 1; }
        sleep 0.1
    done
}

cluster_stop() {
    for daemon in slurmd-n1 slurmd-n2 slurmctld munged; do
        pid=$(cat "$cluster/$daemon.pid" 2>/dev/null) || continue
        kill "$pid"
        tries=0
        while kill -0 "$pid" 2>/dev/null && [ $tries -lt 100 ]; do
            tries=$((tries + 1))
            sleep 0.1
        done
    done
}
