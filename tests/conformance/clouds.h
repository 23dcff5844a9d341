/* tests/conformance/clouds.h - clouds of ours that answer in the shape of a provider's API.  Floor: tests. */
#ifndef BERTH_TESTS_CLOUDS_H
#define BERTH_TESTS_CLOUDS_H

#include "providers/prov.h"

/*
 * Lambda Cloud as its OpenAPI document describes it: two gpu_1x_l4 in eu-9, a gpu_8x_h100_sxm5 that is sold out, a CPU
 * machine. Wants the key "key-SECRET" and the SSH key "ours". A machine boots for 60 s of the account's clock and
 * ends within 30 s of a terminate. Refuses what the document forbids.
 */
enum berth_code lambda_cloud(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp,
    struct berth_err *err);
void lambda_cloud_reset(void);

/*
 * Google Cloud as its discovery documents describe it: two g2-standard-4 in eu-north9-a of project proj; prices and types
 * on two pages each. A token comes from https://oauth2.example/token for the refresh token "ref" of client "id", "sec".
 * A machine starts for 60 s and stops for 30 s; a third one is refused within an operation that is accepted.
 */
enum berth_code gcp_cloud(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp,
    struct berth_err *err);
void gcp_cloud_reset(void);

/*
 * Azure as its documents describe it: two Standard_NC4as_T4_v3 in eastus of subscription sub, group rg; prices and machines
 * on two pages each. Tokens are for tenant ten, client app, secret key-SECRET; the price list must not get them. A
 * machine starts for 60 s and ends within 30 s; a third one is refused at once.
 */
enum berth_code azure_cloud(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp,
    struct berth_err *err);
void azure_cloud_reset(void);

/* Oracle Cloud: two VM.GPU.A10.1 in eu-nowhere-1; no room is a plain 500. Requests must be signed, but for the price list. */
enum berth_code oci_cloud(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp,
    struct berth_err *err);
void oci_cloud_reset(void);

/*
 * Alibaba Cloud: two ecs.gn6i-c4g1.xlarge in cn-nowhere-a, types and machines page by page. Requests must be signed by the
 * key "key-SECRET" with a new nonce each. The same token is the same machine.
 */
enum berth_code alibaba_cloud(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp,
    struct berth_err *err);
void alibaba_cloud_reset(void);

/*
 * Tencent Cloud: two GN7.2XLARGE32 (and halves of a T4) in ap-nowhere-1, machines listed one a page. Requests must be signed
 * by the key "key-SECRET"; every refusal is a 200. The same token is the same machine.
 */
enum berth_code tencent_cloud(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp,
    struct berth_err *err);
void tencent_cloud_reset(void);

/*
 * Huawei Cloud: two pi2.2xlarge.4 in cn-nowherea, flavors page by page, one that has no price. Requests must be signed by the
 * key "key-SECRET". The same token is the same machine; a third one is accepted, and its job fails.
 */
enum berth_code huawei_cloud(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp,
    struct berth_err *err);
void huawei_cloud_reset(void);

/* RunPod, Vast.ai, DigitalOcean and Crusoe: two machines with one L4 each, for the key "key-SECRET". */
enum berth_code crusoe_cloud(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp,
    struct berth_err *err);
enum berth_code runpod_cloud(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp,
    struct berth_err *err);
enum berth_code vast_cloud(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp,
    struct berth_err *err);
enum berth_code digitalocean_cloud(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp,
    struct berth_err *err);
void small_clouds_reset(void);

/*
 * keystone, nova and glance on http://127.0.0.1, ports 5000, 8774 and 9292: the user ann of project lab with the password
 * "key-SECRET"; gpu.l4.1 on a second page of flavours; the image debian. A server builds for 60 s, a third one at once
 * ends in ERROR, and its fault is told of it alone; a deleted one is gone after 30 s.
 */
enum berth_code openstack_cloud(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp,
    struct berth_err *err);
void openstack_cloud_reset(void);

/*
 * slurmrestd that speaks v0.0.41 alone: one node with two l4 in the partition "gpu" (and "off", which is down). Wants
 * the user ann and the token "key-SECRET". A job waits for 10 s, and for ever while both GPUs are held; a cancelled one
 * is forgotten after 300 s.
 */
enum berth_code slurm_cloud(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp,
    struct berth_err *err);
void slurm_cloud_reset(void);

/*
 * EC2 in eu-north-9 as its service model describes it: g6.xlarge, a slice of an L4 and trn1.32xlarge, types and prices on
 * two pages each, machines listed one a page. Wants the key id "key-SECRET" and the image ami-1. A machine starts for 60 s
 * and ends for 30 s; a third one is refused with a 500. The same token is the same machine.
 */
enum berth_code aws_cloud(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp,
    struct berth_err *err);
void aws_cloud_reset(void);

/*
 * A cluster at http://127.0.0.1:6443 that takes the bearer token "key-SECRET": two L4 on one node of zone z, on a second page
 * whose token expires once; the namespace lab. A pod starts after 20 s, and waits for ever while both GPUs are held; a
 * deleted Job and its pod end within 5 s.
 */
enum berth_code kube_cloud(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp,
    struct berth_err *err);
void kube_cloud_reset(void);

#endif
