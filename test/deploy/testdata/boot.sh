# Has systemd run a unit, in namespaces of their own: boot.sh DIRECTORY, which has toolserver, toolserver.service and config.yaml.
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs /run
mkdir -p /run/given /run/systemd/system /run/lock /run/etc /run/etc-work /run/bin /run/bin-work
mount --bind "$1" /run/given
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -t overlay -o lowerdir=/etc,upperdir=/run/etc,workdir=/run/etc-work overlay /etc
mount -t overlay -o lowerdir=/usr/local/bin,upperdir=/run/bin,workdir=/run/bin-work overlay /usr/local/bin
for dir in /var/lib /var/log /srv; do mount -t tmpfs tmpfs $dir; done
umount -l /proc
mount -t proc proc /proc
umount -l /sys/fs/cgroup 2>/dev/null || true
mount -t tmpfs tmpfs /sys/fs/cgroup
mkdir /sys/fs/cgroup/systemd
mount -t cgroup -o none,name=systemd cgroup /sys/fs/cgroup/systemd 2>/dev/null || { umount /sys/fs/cgroup; mount -t cgroup2 cgroup2 /sys/fs/cgroup; }
cp /run/given/toolserver /usr/local/bin/
cp /run/given/toolserver.service /run/systemd/system/
mkdir -m 755 /etc/toolserver
mkdir -m 777 /srv/work
chmod 777 /srv/work
install -m 644 /run/given/config.yaml /etc/toolserver/
toolserver audit key /etc/toolserver/audit.key
mount --make-rshared /
exec env -i container=test PATH="$PATH" /lib/systemd/systemd --system --unit=toolserver.service --log-target=console --show-status=0 </dev/null
