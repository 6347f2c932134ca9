#include "made_files.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <unistd.h>

namespace rota::io::tls::test {
namespace {

constexpr const char* script = R"sh(
set -e
ec="-newkey ec -pkeyopt ec_paramgen_curve:P-256"
make() { # NAME SUBJECT KEY-OPTIONS MORE...
    name=$1 subject=$2 key=$3
    shift 3
    openssl req -x509 -nodes $key -keyout $name.key -out $name.pem -days 30 -subj "$subject" "$@"
}
make ca /CN=authority "$ec"
make other /CN=elsewhere "$ec"
by="-CA ca.pem -CAkey ca.key"
make a /CN=a.test "$ec" $by -addext subjectAltName=DNS:a.test,DNS:A2.test,IP:127.0.0.1
make a_rsa /CN=a.test "-newkey rsa:2048" $by -addext subjectAltName=DNS:A2.test,DNS:a.test
make ip1 /O=ip1 "$ec" $by -addext subjectAltName=IP:127.0.0.1,IP:::1
cp a_rsa.key ip1_rsa.key
make ip1_rsa /O=ip1_rsa "-key ip1_rsa.key" $by -addext subjectAltName=IP:::1,IP:127.0.0.1
cp a_rsa.key ip2_rsa.key
make ip2_rsa /O=ip2_rsa "-key ip2_rsa.key" $by -addext subjectAltName=IP:127.0.0.2
make b /CN=b.test "$ec" $by -addext subjectAltName=DNS:b.test
make named /CN=named.test "$ec" $by
make w /CN=w "$ec" $by -addext subjectAltName=DNS:*.w.test,DNS:deep.x.w.test
make ann /CN=ann/O=people "$ec" $by -addext subjectAltName=DNS:ann.test
make middle /CN=middle "$ec" $by
make leaf /CN=leaf "$ec" -CA middle.pem -CAkey middle.key -addext subjectAltName=DNS:leaf.test
make x25519 /CN=x25519 "-newkey x25519" $by
make k1 /CN=k1 "-newkey ec -pkeyopt ec_paramgen_curve:secp256k1" $by
make for_clients /CN=for_clients "$ec" $by -addext extendedKeyUsage=clientAuth
make for_both /CN=for_both "$ec" $by -addext extendedKeyUsage=clientAuth,serverAuth
for i in 1 2 3; do
    make long$i $(printf '/OU=%064d' $(seq 432))/CN=$i "$ec" # 32,417 bytes
done
make stranger /CN=stranger "$ec" -CA other.pem -CAkey other.key
dated() { # NAME OPTIONS...
    name=$1
    shift
    openssl req -new -nodes $ec -keyout $name.key -out $name.csr -subj /CN=$name
    : > dated
    openssl ca -batch -config dated.conf -in $name.csr -out $name.pem "$@"
}
printf '%s\n' [ca] default_ca=d [d] database=dated new_certs_dir=. rand_serial=yes policy=p \
    default_md=sha256 certificate=ca.pem private_key=ca.key [p] commonName=supplied > dated.conf
dated ended -startdate 20000101000000Z -enddate 20010101000000Z
dated to_come -startdate 29990101000000Z -enddate 30000101000000Z
dated ending -days 3
dated soon -enddate $(date -u -d +1hour +%Y%m%d%H%M%SZ)
echo basicConstraints=critical,CA:true > ca.ext
dated ended_ca -startdate 20000101000000Z -enddate 20010101000000Z -extfile ca.ext
make below_ended /CN=below_ended "$ec" -CA ended_ca.pem -CAkey ended_ca.key
cat below_ended.pem ended_ca.pem > below_ended.chain
cat a.pem ca.pem > chain.pem
for name in a a_rsa leaf; do
    serial=$(openssl x509 -in $name.pem -noout -serial | cut -d= -f2)
    printf 'V\t491231235959Z\t\t%s\tunknown\t/CN=%s\n' "$serial" "$name" >> index
done
respond() { # NAME -cert FILE...
    name=$1
    shift
    openssl ocsp -index index -CA ca.pem -rsigner ca.pem -rkey ca.key -issuer ca.pem \
        -respout $name.ocsp $fresh "$@"
}
fresh="-ndays 7"
respond a -cert a.pem
respond a_rsa -cert a_rsa.pem
respond a_and_rsa -sha256 -cert a_rsa.pem -cert a.pem
fresh=
respond no_end -cert a.pem
fresh="-ndays 7"
make same_name /CN=authority "$ec"
respond same_name -CA same_name.pem -rsigner same_name.pem -rkey same_name.key \
    -issuer same_name.pem -cert a.pem
respond by_stranger -rsigner stranger.pem -rkey stranger.key -cert a.pem
respond by_sibling -rsigner ann.pem -rkey ann.key -cert a.pem
make delegate /CN=delegate "$ec" $by -addext extendedKeyUsage=OCSPSigning
respond by_delegate -rsigner delegate.pem -rkey delegate.key -cert a.pem
cat leaf.pem middle.pem > leaf.chain
respond leaf -CA middle.pem -rsigner middle.pem -rkey middle.key -issuer middle.pem -cert leaf.pem
sed 's/^V\t\([^\t]*\)\t/R\t\1\t260101000000Z/' index > revoked
respond revoked -index revoked -cert a.pem
: > nobody
respond unknown -index nobody -cert a.pem
openssl ec -in a.key -aes128 -passout pass:secret -out locked.key
openssl rand 160 > tickets
)sh";

struct folder {
    std::filesystem::path path;
    folder() {
        std::string name = (std::filesystem::temp_directory_path() / "rota-tls-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr)
            throw std::runtime_error("mkdtemp");
        path = name;
        std::ofstream(path / "make.sh") << script;
        const std::string command = "cd " + name + " && sh make.sh > log 2>&1";
        if (std::system(command.c_str()) != 0) // NOLINT(concurrency-mt-unsafe)
            throw std::runtime_error("openssl has made no certificates: see " + name + "/log");
    }
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;
    ~folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
};

const folder& files() {
    static const folder here;
    return here;
}

} // namespace

std::string made(const std::string& name) { return (files().path / name).string(); }

certificate_files made_pair(const std::string& name) {
    return {.certificate = made(name + ".pem"), .key = made(name + ".key")};
}

std::string written(const std::string& name, const std::string& content) {
    std::ofstream(files().path / name, std::ios::binary) << content;
    return made(name);
}

server_options sample_server() {
    server_options options;
    options.certificates = {made_pair("b"), made_pair("a"), made_pair("w")};
    return options;
}

client_options sample_client() {
    client_options options;
    options.system_roots = false;
    options.roots = {made("ca.pem")};
    return options;
}

} // namespace rota::io::tls::test
