#!/usr/bin/env bash
# link.sh PROGRAM [options]: runs it in a network namespace that a wire, isobar0, joins to a second one, its descriptor 9, and all of it is
# gone with the processes that use it. ISOBAR_WIRE: "namespaces", or what came in between; the program then runs without them.
# link.sh --speed RATE BURST_BYTES: how fast both ends of the wire send from now on, as tc writes it.
set -eu
PATH=$PATH:/usr/sbin:/sbin
other="nsenter --net=/proc/self/fd/9"
case $1 in
  --speed)
    for enter in "" "$other"; do $enter tc qdisc replace dev isobar0 root tbf rate "$2" burst "$3" limit 4m; done
    exit ;;
  --inside)
    shift
    unshare --net sleep 60 & holder=$!
    until [ "$(readlink "/proc/$holder/ns/net")" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
    exec 9< "/proc/$holder/ns/net"
    ip link add isobar0 type veth peer name isobar0 netns "$holder"
    kill "$holder"
    end=1
    for enter in "" "$other"; do
      $enter ip address add 10.231.0.$end/30 dev isobar0
      $enter ip link set isobar0 addrgenmode none  # one address, as Gloo takes the first
      $enter ip link set lo up
      $enter ip link set isobar0 up
      end=2
    done
    "$0" --speed 1gbit 64000
    exec "$@" ;;
esac
inside=(unshare --net)
[ "$(id -u)" = 0 ] || inside+=(--user --map-root-user)
if why=$("${inside[@]}" bash "$0" --inside true 2>&1 < /dev/null); then
  ISOBAR_WIRE=namespaces exec "${inside[@]}" bash "$0" --inside "$@"
fi
ISOBAR_WIRE=${why##*$'\n'} exec "$@"
