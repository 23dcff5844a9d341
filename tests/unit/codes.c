/* tests/unit/codes.c - every refusal that the clouds document, through the table of its adapter, for a create. */
#include <string.h>

#include "providers/prov.h"
#include "tests/tap.h"
#include "util/arena.h"
#include "util/str.h"

/* How a cloud wraps a code and a message; %s twice. */
#define XML "<Response><Errors><Error><Code>%s</Code><Message>%s</Message></Error></Errors></Response>"
#define REASON "{\"error\":{\"code\":400,\"errors\":[{\"reason\":\"%s\",\"message\":\"m\"}],\"message\":\"%s\"}}"
#define OPERATION "{\"kind\":\"compute#operation\",\"error\":{\"errors\":[{\"code\":\"%s\",\"message\":\"%s\"}]}}"
#define ERROR "{\"error\":{\"code\":\"%s\",\"message\":\"%s\"}}"
#define PLAIN "{\"code\":\"%s\",\"message\":\"%s\"}"
#define ASYNC "{\"status\":\"Failed\",\"error\":{\"code\":\"%s\",\"message\":\"%s\"}}"
#define GRAPHQL "{\"errors\":[{\"extensions\":{\"code\":\"%s\"},\"message\":\"%s\"}],\"data\":null}"
#define PROBLEM "{\"title\":\"%s\",\"detail\":\"%s\"}"
#define ASK "{\"success\":false,\"error\":\"%s\",\"msg\":\"%s\"}"
#define DROPLET "{\"id\":\"%s\",\"message\":\"%s\"}"
#define CRUSOE "{\"operation\":{\"state\":\"FAILED\",\"result\":{\"code\":\"%s\",\"message\":\"%s\"}}}"
#define NOVA "{\"%s\":{\"code\":400,\"message\":\"%s\"}}"
#define SLURM "{\"errors\":[{\"error_number\":%s,\"error\":\"%s\"}]}"
#define CAPITAL "{\"Code\":\"%s\",\"Message\":\"%s\",\"RequestId\":\"r\"}"
#define WITHIN "{\"Response\":{\"Error\":{\"Code\":\"%s\",\"Message\":\"%s\"},\"RequestId\":\"r\"}}"
#define STATUS "{\"kind\":\"Status\",\"reason\":\"%s\",\"message\":\"%s\"}"

static const struct row { const char *provider; int status; const char *shape, *code, *text; enum berth_code want; } rows[] = {
	{ "aws", 500, XML, "InsufficientInstanceCapacity", "We currently do not have sufficient capacity", BERTH_ECAPACITY },
	{ "aws", 500, XML, "InsufficientHostCapacity", "", BERTH_ECAPACITY },
	{ "aws", 400, XML, "InsufficientReservedInstanceCapacity", "", BERTH_ECAPACITY },
	{ "aws", 400, XML, "UnfulfillableCapacity", "", BERTH_ECAPACITY },
	{ "aws", 400, XML, "ReservationCapacityExceeded", "", BERTH_ECAPACITY },
	{ "aws", 400, XML, "Unsupported", "not supported in your requested Availability Zone", BERTH_ECAPACITY },
	{ "aws", 400, XML, "SpotMaxPriceTooLow", "", BERTH_ECAPACITY },
	{ "aws", 500, XML, "InsufficientInstanceCapacity", "the limit of instances in this spread placement group", BERTH_EPERMANENT },
	{ "aws", 400, XML, "VcpuLimitExceeded", "", BERTH_EQUOTA },
	{ "aws", 400, XML, "InstanceLimitExceeded", "", BERTH_EQUOTA },
	{ "aws", 400, XML, "MaxSpotInstanceCountExceeded", "", BERTH_EQUOTA },
	{ "aws", 400, XML, "MaxFleetCountExceeded", "", BERTH_EQUOTA },
	{ "aws", 400, XML, "InsufficientFreeAddressesInSubnet", "", BERTH_EQUOTA },
	{ "aws", 503, XML, "RequestLimitExceeded", "", BERTH_ETHROTTLED },
	{ "aws", 400, XML, "Throttling", "", BERTH_ETHROTTLED },
	{ "aws", 400, XML, "ThrottlingException", "", BERTH_ETHROTTLED },
	{ "aws", 400, XML, "ThrottledException", "", BERTH_ETHROTTLED },
	{ "aws", 400, XML, "EC2ThrottledException", "", BERTH_ETHROTTLED },
	{ "aws", 400, XML, "TooManyRequestsException", "", BERTH_ETHROTTLED },
	{ "aws", 400, XML, "RequestThrottled", "", BERTH_ETHROTTLED },
	{ "aws", 400, XML, "RequestThrottledException", "", BERTH_ETHROTTLED },
	{ "aws", 429, "", "", "", BERTH_ETHROTTLED },
	{ "aws", 401, XML, "AuthFailure", "", BERTH_EAUTH },
	{ "aws", 403, XML, "AuthFailure.ServiceLinkedRoleCreationNotPermitted", "", BERTH_EAUTH },
	{ "aws", 403, XML, "UnauthorizedOperation", "", BERTH_EAUTH },
	{ "aws", 403, XML, "SignatureDoesNotMatch", "", BERTH_EAUTH },
	{ "aws", 400, XML, "RequestExpired", "", BERTH_EAUTH },
	{ "aws", 403, XML, "RequestTimeTooSkewed", "", BERTH_EAUTH },
	{ "aws", 400, XML, "ExpiredToken", "", BERTH_EAUTH },
	{ "aws", 400, XML, "ExpiredTokenException", "", BERTH_EAUTH },
	{ "aws", 400, XML, "OptInRequired", "", BERTH_EAUTH },
	{ "aws", 403, XML, "InvalidClientTokenId", "", BERTH_EAUTH },
	{ "aws", 400, XML, "PendingVerification", "", BERTH_EAUTH },
	{ "aws", 400, XML, "InvalidParameterValue", "", BERTH_EPERMANENT },
	{ "aws", 400, XML, "InvalidParameterCombination", "", BERTH_EPERMANENT },
	{ "aws", 400, XML, "MissingParameter", "", BERTH_EPERMANENT },
	{ "aws", 400, XML, "InvalidSubnetID.NotFound", "", BERTH_EPERMANENT },
	{ "aws", 400, XML, "InvalidAMIID.NotFound", "", BERTH_EPERMANENT },
	{ "aws", 400, XML, "InvalidInstanceID.NotFound", "", BERTH_ENOTFOUND },
	{ "aws", 400, XML, "IdempotentParameterMismatch", "", BERTH_EPERMANENT },
	{ "aws", 500, XML, "InternalError", "", BERTH_ETRANSIENT },
	{ "aws", 500, XML, "InternalFailure", "", BERTH_ETRANSIENT },
	{ "aws", 503, XML, "Unavailable", "", BERTH_ETRANSIENT },
	{ "aws", 503, XML, "ServiceUnavailable", "", BERTH_ETRANSIENT },
	{ "aws", 502, "", "", "", BERTH_ETRANSIENT },

	{ "gcp", 200, OPERATION, "ZONE_RESOURCE_POOL_EXHAUSTED", "", BERTH_ECAPACITY },
	{ "gcp", 200, OPERATION, "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", "", BERTH_ECAPACITY },
	{ "gcp", 200, OPERATION, "RESOURCE_POOL_EXHAUSTED", "", BERTH_ECAPACITY },
	{ "gcp", 200, OPERATION, "INSUFFICIENT_CAPACITY", "", BERTH_ECAPACITY },
	{ "gcp", 200, OPERATION, "IP_SPACE_EXHAUSTED", "", BERTH_ECAPACITY },
	{ "gcp", 200, OPERATION, "IP_SPACE_EXHAUSTED_WITH_DETAILS", "", BERTH_ECAPACITY },
	{ "gcp", 200, OPERATION, "RESOURCE_ERROR", "Zone does not have enough resources (STOCKOUT)", BERTH_ECAPACITY },
	{ "gcp", 200, OPERATION, "QUOTA_EXCEEDED", "", BERTH_EQUOTA },
	{ "gcp", 200, OPERATION, "GPUS_ALL_REGIONS_QUOTA", "", BERTH_EQUOTA },
	{ "gcp", 200, OPERATION, "PERMISSIONS_ERROR", "", BERTH_EAUTH },
	{ "gcp", 200, OPERATION, "VM_EXTERNAL_IP_ACCESS_POLICY_CONSTRAINT", "", BERTH_EAUTH },
	{ "gcp", 429, "{\"error\":{\"code\":429,\"status\":\"%s\",\"message\":\"%s\"}}", "RESOURCE_EXHAUSTED",
	    "There is no more capacity in the zone", BERTH_ECAPACITY },
	{ "gcp", 429, "{\"error\":{\"code\":429,\"status\":\"%s\",\"message\":\"%s\"}}", "RESOURCE_EXHAUSTED",
	    "Quota limit 'TPUV5sLitepodPerProjectPerZone' has been exceeded", BERTH_EQUOTA },
	{ "gcp", 403, REASON, "quotaExceeded", "", BERTH_EQUOTA },
	{ "gcp", 403, REASON, "rateLimitExceeded", "", BERTH_ETHROTTLED },
	{ "gcp", 403, REASON, "userRateLimitExceeded", "", BERTH_ETHROTTLED },
	{ "gcp", 429, "", "", "", BERTH_ETHROTTLED },
	{ "gcp", 401, "", "", "", BERTH_EAUTH },
	{ "gcp", 403, REASON, "forbidden", "", BERTH_EAUTH },
	{ "gcp", 403, REASON, "accessNotConfigured", "", BERTH_EAUTH },
	{ "gcp", 400, REASON, "invalid", "", BERTH_EPERMANENT },
	{ "gcp", 400, "{\"error\":\"%s\",\"error_description\":\"%s\"}", "invalid_grant", "Invalid JWT", BERTH_EAUTH },
	{ "gcp", 503, REASON, "backendError", "", BERTH_ETRANSIENT },
	{ "gcp", 503, "", "", "", BERTH_ETRANSIENT },
	{ "gcp", 409, REASON, "alreadyExists", "", BERTH_ETRANSIENT },

	{ "azure", 409, ERROR, "SkuNotAvailable", "", BERTH_ECAPACITY },
	{ "azure", 200, ASYNC, "AllocationFailed", "", BERTH_ECAPACITY },
	{ "azure", 200, ASYNC, "ZonalAllocationFailed", "", BERTH_ECAPACITY },
	{ "azure", 200, ASYNC, "OverconstrainedAllocationRequest", "", BERTH_ECAPACITY },
	{ "azure", 200, ASYNC, "OverconstrainedZonalAllocationRequest", "", BERTH_ECAPACITY },
	{ "azure", 400, ERROR, "VMSizeNotSupported", "", BERTH_EPERMANENT },
	{ "azure", 400, ERROR, "BadRequest", "The VM size is not supported for subscription", BERTH_EPERMANENT },
	{ "azure", 409, ERROR, "OperationNotAllowed", "Operation could not be completed as it results in exceeding approved "
	    "StandardNDSH100v5Family Cores quota. Current Limit: 0", BERTH_EQUOTA },
	{ "azure", 409, ERROR, "QuotaExceeded", "exceeding approved Total Regional Cores quota", BERTH_EQUOTA },
	{ "azure", 429, ERROR, "TooManyRequests", "", BERTH_ETHROTTLED },
	{ "azure", 429, ERROR, "OperationNotAllowed", "The server rejected the request because too many requests have been received",
	    BERTH_ETHROTTLED },
	{ "azure", 429, ERROR, "SubscriptionRequestsThrottled", "", BERTH_ETHROTTLED },
	{ "azure", 401, ERROR, "ExpiredAuthenticationToken", "", BERTH_EAUTH },
	{ "azure", 401, ERROR, "InvalidAuthenticationToken", "", BERTH_EAUTH },
	{ "azure", 403, ERROR, "AuthorizationFailed", "", BERTH_EAUTH },
	{ "azure", 403, ERROR, "LinkedAuthorizationFailed", "", BERTH_EAUTH },
	{ "azure", 400, "{\"error\":\"%s\",\"error_description\":\"%s\"}", "invalid_request", "AADSTS90002: Tenant not found", BERTH_EAUTH },
	{ "azure", 400, "{\"error\":\"%s\",\"error_description\":\"%s\"}", "invalid_client", "AADSTS7000222: expired", BERTH_EAUTH },
	{ "azure", 400, ERROR, "InvalidParameter", "", BERTH_EPERMANENT },
	{ "azure", 404, ERROR, "ResourceGroupNotFound", "", BERTH_EPERMANENT },
	{ "azure", 409, ERROR, "MissingSubscriptionRegistration", "", BERTH_EPERMANENT },
	{ "azure", 500, ERROR, "RetryableError", "", BERTH_ETRANSIENT },
	{ "azure", 409, ERROR, "Conflict", "", BERTH_ETRANSIENT },
	{ "azure", 409, ERROR, "AnotherOperationInProgress", "", BERTH_ETRANSIENT },
	{ "azure", 503, "", "", "", BERTH_ETRANSIENT },

	{ "oci", 500, PLAIN, "InternalError", "Out of host capacity.", BERTH_ECAPACITY },
	{ "oci", 500, PLAIN, "InternalError", "Out of capacity for shape", BERTH_ECAPACITY },
	{ "oci", 400, PLAIN, "LimitExceeded", "", BERTH_EQUOTA },
	{ "oci", 400, PLAIN, "QuotaExceeded", "", BERTH_EQUOTA },
	{ "oci", 429, PLAIN, "TooManyRequests", "", BERTH_ETHROTTLED },
	{ "oci", 401, PLAIN, "NotAuthenticated", "", BERTH_EAUTH },
	{ "oci", 404, PLAIN, "NotAuthorizedOrNotFound", "", BERTH_ENOTFOUND },
	{ "oci", 409, PLAIN, "InvalidatedRetryToken", "", BERTH_ETRANSIENT },
	{ "oci", 409, PLAIN, "IncorrectState", "", BERTH_ETRANSIENT },
	{ "oci", 409, PLAIN, "LockConflict", "", BERTH_ETRANSIENT },
	{ "oci", 501, PLAIN, "MethodNotImplemented", "", BERTH_EPERMANENT },
	{ "oci", 500, PLAIN, "InternalServerError", "", BERTH_ETRANSIENT },
	{ "oci", 503, "", "", "", BERTH_ETRANSIENT },

	{ "alibaba", 403, CAPITAL, "OperationDenied.NoStock", "", BERTH_ECAPACITY },
	{ "alibaba", 403, CAPITAL, "OperationDenied.NoStockInZone", "", BERTH_ECAPACITY },
	{ "alibaba", 403, CAPITAL, "Zone.NotOnSale", "", BERTH_ECAPACITY },
	{ "alibaba", 404, CAPITAL, "InvalidResourceType.NotSupported", "", BERTH_ECAPACITY },
	{ "alibaba", 404, CAPITAL, "InstanceType.Offline", "", BERTH_ECAPACITY },
	{ "alibaba", 400, CAPITAL, "InvalidInstanceType.ZoneNotSupported", "", BERTH_ECAPACITY },
	{ "alibaba", 400, CAPITAL, "InvalidInstanceType.NotSupported", "", BERTH_ECAPACITY },
	{ "alibaba", 403, CAPITAL, "QuotaExceed.ElasticQuota", "", BERTH_EQUOTA },
	{ "alibaba", 403, CAPITAL, "QuotaExceed.AfterpayInstance", "", BERTH_EQUOTA },
	{ "alibaba", 400, CAPITAL, "InvalidVSwitchId.IpNotEnough", "", BERTH_EQUOTA },
	{ "alibaba", 403, CAPITAL, "InvalidAccountStatus.NotEnoughBalance", "", BERTH_EQUOTA },
	{ "alibaba", 400, CAPITAL, "Throttling", "", BERTH_ETHROTTLED },
	{ "alibaba", 400, CAPITAL, "Throttling.User", "", BERTH_ETHROTTLED },
	{ "alibaba", 400, CAPITAL, "Throttling.Api", "", BERTH_ETHROTTLED },
	{ "alibaba", 503, CAPITAL, "ServiceUnavailable", "", BERTH_ETRANSIENT },
	{ "alibaba", 404, CAPITAL, "InvalidAccessKeyId.NotFound", "", BERTH_EAUTH },
	{ "alibaba", 400, CAPITAL, "SignatureDoesNotMatch", "", BERTH_EAUTH },
	{ "alibaba", 400, CAPITAL, "SignatureNonceUsed", "", BERTH_ETRANSIENT },
	{ "alibaba", 400, CAPITAL, "InvalidTimeStamp.Expired", "", BERTH_EAUTH },
	{ "alibaba", 403, CAPITAL, "Forbidden.RAM", "", BERTH_EAUTH },
	{ "alibaba", 403, CAPITAL, "NoPermission", "", BERTH_EAUTH },
	{ "alibaba", 400, CAPITAL, "InvalidSecurityToken.Expired", "", BERTH_EAUTH },
	{ "alibaba", 404, CAPITAL, "InvalidInstanceId.NotFound", "", BERTH_ENOTFOUND },
	{ "alibaba", 403, CAPITAL, "IncorrectInstanceStatus", "", BERTH_ETRANSIENT },
	{ "alibaba", 403, CAPITAL, "IdempotentProcessing", "", BERTH_ETRANSIENT },
	{ "alibaba", 400, CAPITAL, "IdempotentParameterMismatch", "", BERTH_EPERMANENT },
	{ "alibaba", 400, CAPITAL, "InvalidParameter", "", BERTH_EPERMANENT },
	{ "alibaba", 400, CAPITAL, "MissingParameter", "", BERTH_EPERMANENT },
	{ "alibaba", 500, CAPITAL, "InternalError", "", BERTH_ETRANSIENT },

	{ "tencent", 200, WITHIN, "ResourceInsufficient.SpecifiedInstanceType", "", BERTH_ECAPACITY },
	{ "tencent", 200, WITHIN, "ResourceInsufficient.AvailabilityZoneSoldOut", "", BERTH_ECAPACITY },
	{ "tencent", 200, WITHIN, "ResourceInsufficient.ZoneSoldOutForSpecifiedInstance", "", BERTH_ECAPACITY },
	{ "tencent", 200, WITHIN, "ResourceInsufficient.CloudDiskSoldOut", "", BERTH_ECAPACITY },
	{ "tencent", 200, WITHIN, "ResourceInsufficient.CloudDiskUnavailable", "", BERTH_ECAPACITY },
	{ "tencent", 200, WITHIN, "ResourceInsufficient.InsufficientOfferingMinimum", "", BERTH_ECAPACITY },
	{ "tencent", 200, WITHIN, "ResourceInsufficient", "", BERTH_ECAPACITY },
	{ "tencent", 200, WITHIN, "ResourcesSoldOut.SpecifiedInstanceType", "", BERTH_ECAPACITY },
	{ "tencent", 200, WITHIN, "ResourcesSoldOut.AvailableZone", "", BERTH_ECAPACITY },
	{ "tencent", 200, WITHIN, "ResourcesSoldOut.EipInsufficient", "", BERTH_ECAPACITY },
	{ "tencent", 200, WITHIN, "ResourceUnavailable", "", BERTH_ECAPACITY },
	{ "tencent", 200, WITHIN, "ResourceUnavailable.InstanceType", "", BERTH_ECAPACITY },
	{ "tencent", 200, WITHIN, "ResourceUnavailable.SnapshotCreating", "", BERTH_ETRANSIENT },
	{ "tencent", 200, WITHIN, "ResourceNotFound.InvalidZoneInstanceType", "", BERTH_ECAPACITY },
	{ "tencent", 200, WITHIN, "InvalidParameterValue.InsufficientPrice", "", BERTH_ECAPACITY },
	{ "tencent", 200, WITHIN, "UnsupportedOperation.NoInstanceTypeSupportSpot", "", BERTH_ECAPACITY },
	{ "tencent", 200, WITHIN, "UnsupportedOperation.SpotUnsupportedRegion", "", BERTH_ECAPACITY },
	{ "tencent", 200, WITHIN, "ResourceInsufficient.CidrBlock", "", BERTH_EQUOTA },
	{ "tencent", 200, WITHIN, "ResourceInsufficient.DisasterRecoverGroupCvmQuota", "", BERTH_EQUOTA },
	{ "tencent", 200, WITHIN, "ResourceInsufficient.InsufficientGroupQuota", "", BERTH_EQUOTA },
	{ "tencent", 200, WITHIN, "LimitExceeded.InstanceQuota", "", BERTH_EQUOTA },
	{ "tencent", 200, WITHIN, "LimitExceeded.CvmInstanceQuota", "", BERTH_EQUOTA },
	{ "tencent", 200, WITHIN, "LimitExceeded.SpotQuota", "", BERTH_EQUOTA },
	{ "tencent", 200, WITHIN, "LimitExceeded.UserSpotQuota", "", BERTH_EQUOTA },
	{ "tencent", 200, WITHIN, "LimitExceeded.EipNumLimit", "", BERTH_EQUOTA },
	{ "tencent", 200, WITHIN, "InstancesQuotaLimitExceeded", "", BERTH_EQUOTA },
	{ "tencent", 200, WITHIN, "OverQuota", "", BERTH_EQUOTA },
	{ "tencent", 200, WITHIN, "UnsupportedOperation.InsufficientClusterQuota", "", BERTH_EQUOTA },
	{ "tencent", 200, WITHIN, "FailedOperation.NoAvailableIpAddressCountInSubnet", "", BERTH_EQUOTA },
	{ "tencent", 200, WITHIN, "InvalidAccount.InsufficientBalance", "", BERTH_EQUOTA },
	{ "tencent", 200, WITHIN, "InvalidAccount.UnpaidOrder", "", BERTH_EQUOTA },
	{ "tencent", 200, WITHIN, "RequestLimitExceeded", "", BERTH_ETHROTTLED },
	{ "tencent", 200, WITHIN, "RequestLimitExceeded.UinLimitExceeded", "", BERTH_ETHROTTLED },
	{ "tencent", 200, WITHIN, "AuthFailure.SignatureFailure", "", BERTH_EAUTH },
	{ "tencent", 200, WITHIN, "AuthFailure.SignatureExpire", "", BERTH_EAUTH },
	{ "tencent", 200, WITHIN, "AuthFailure.SecretIdNotFound", "", BERTH_EAUTH },
	{ "tencent", 200, WITHIN, "AuthFailure.TokenFailure", "", BERTH_EAUTH },
	{ "tencent", 200, WITHIN, "AuthFailure.UnauthorizedOperation", "", BERTH_EAUTH },
	{ "tencent", 200, WITHIN, "AuthFailure.CamRoleNameAuthenticateFailed", "", BERTH_EAUTH },
	{ "tencent", 200, WITHIN, "UnauthorizedOperation", "", BERTH_EAUTH },
	{ "tencent", 200, WITHIN, "UnauthorizedOperation.PermissionDenied", "", BERTH_EAUTH },
	{ "tencent", 200, WITHIN, "UnauthorizedOperation.MFAExpired", "", BERTH_EAUTH },
	{ "tencent", 200, WITHIN, "UnauthorizedOperation.ImageNotBelongToAccount", "", BERTH_EPERMANENT },
	{ "tencent", 200, WITHIN, "AccountQualificationRestrictions", "", BERTH_EAUTH },
	{ "tencent", 200, WITHIN, "OperationDenied.AccountNotSupported", "", BERTH_EAUTH },
	{ "tencent", 200, WITHIN, "InvalidInstanceId.NotFound", "", BERTH_ENOTFOUND },
	{ "tencent", 200, WITHIN, "InvalidInstanceId.Malformed", "", BERTH_EPERMANENT },
	{ "tencent", 200, WITHIN, "UnsupportedOperation.InstanceStateTerminated", "", BERTH_ENOTFOUND },
	{ "tencent", 200, WITHIN, "UnsupportedOperation.InstanceStateTerminating", "", BERTH_ETRANSIENT },
	{ "tencent", 200, WITHIN, "UnsupportedOperation.InstanceStatePending", "", BERTH_ETRANSIENT },
	{ "tencent", 200, WITHIN, "MutexOperation.TaskRunning", "", BERTH_ETRANSIENT },
	{ "tencent", 200, WITHIN, "OperationDenied.InstanceOperationInProgress", "", BERTH_ETRANSIENT },
	{ "tencent", 200, WITHIN, "ResourceInUse", "", BERTH_ETRANSIENT },
	{ "tencent", 200, WITHIN, "FailedOperation.InquiryPriceFailed", "", BERTH_ETRANSIENT },
	{ "tencent", 200, WITHIN, "FailedOperation.IllegalTagValue", "", BERTH_EPERMANENT },
	{ "tencent", 200, WITHIN, "InternalError", "", BERTH_ETRANSIENT },
	{ "tencent", 200, WITHIN, "InternalError.TradeUnknownError", "", BERTH_ETRANSIENT },
	{ "tencent", 200, WITHIN, "InternalServerError", "", BERTH_ETRANSIENT },
	{ "tencent", 200, WITHIN, "InvalidParameter", "", BERTH_EPERMANENT },
	{ "tencent", 200, WITHIN, "InvalidParameterValue.LimitExceeded", "", BERTH_EPERMANENT },
	{ "tencent", 200, WITHIN, "InvalidFilterValue.LimitExceeded", "", BERTH_EPERMANENT },
	{ "tencent", 200, WITHIN, "InvalidParameterValue.TagQuotaLimitExceeded", "", BERTH_EPERMANENT },
	{ "tencent", 200, WITHIN, "InvalidClientToken.TooLong", "", BERTH_EPERMANENT },
	{ "tencent", 200, WITHIN, "InvalidZone.MismatchRegion", "", BERTH_EPERMANENT },
	{ "tencent", 200, WITHIN, "MissingParameter", "", BERTH_EPERMANENT },
	{ "tencent", 200, WITHIN, "UnknownParameter", "", BERTH_EPERMANENT },
	{ "tencent", 200, WITHIN, "UnsupportedRegion", "", BERTH_EPERMANENT },
	{ "tencent", 200, WITHIN, "VpcIpIsUsed", "", BERTH_EPERMANENT },
	{ "tencent", 200, WITHIN, "RequestSizeLimitExceeded", "", BERTH_EPERMANENT },
	{ "tencent", 200, WITHIN, "NoSuchVersion", "", BERTH_EPERMANENT },

	{ "lambda", 400, ERROR, "instance-operations/launch/insufficient-capacity", "", BERTH_ECAPACITY },
	{ "lambda", 400, ERROR, "global/quota-exceeded", "", BERTH_EQUOTA },
	{ "lambda", 401, ERROR, "global/invalid-api-key", "", BERTH_EAUTH },
	{ "lambda", 403, ERROR, "global/account-inactive", "", BERTH_EAUTH },
	{ "lambda", 400, ERROR, "global/invalid-parameters", "", BERTH_EPERMANENT },
	{ "lambda", 404, ERROR, "global/object-does-not-exist", "", BERTH_ENOTFOUND },
	{ "lambda", 400, ERROR, "instance-operations/launch/file-system-in-wrong-region", "", BERTH_EPERMANENT },
	{ "lambda", 400, ERROR, "global/invalid-address", "", BERTH_EPERMANENT },
	{ "lambda", 500, ERROR, "provider/internal-unavailable", "", BERTH_ETRANSIENT },
	{ "lambda", 429, "", "", "", BERTH_ETHROTTLED },

	{ "runpod", 200, GRAPHQL, "X", "There are no longer any instances available with the requested specifications", BERTH_ECAPACITY },
	{ "runpod", 200, GRAPHQL, "X", "Insufficient resources", BERTH_ECAPACITY },
	{ "runpod", 422, PROBLEM, "x", "bad image", BERTH_EPERMANENT },
	{ "runpod", 400, PROBLEM, "x", "no machine", BERTH_ECAPACITY },
	{ "runpod", 402, PROBLEM, "x", "pay", BERTH_EQUOTA },
	{ "runpod", 403, PROBLEM, "x", "", BERTH_EAUTH },
	{ "runpod", 429, PROBLEM, "x", "", BERTH_ETHROTTLED },
	{ "runpod", 503, PROBLEM, "x", "", BERTH_ETRANSIENT },

	{ "vast", 404, ASK, "no_such_ask", "", BERTH_ECAPACITY },
	{ "vast", 410, ASK, "no_such_ask", "", BERTH_ECAPACITY },
	{ "vast", 400, ASK, "invalid_args", "", BERTH_EPERMANENT },
	{ "vast", 401, ASK, "auth_error", "", BERTH_EAUTH },
	{ "vast", 403, "", "", "", BERTH_EAUTH },
	{ "vast", 404, ASK, "no_such_instance", "", BERTH_ENOTFOUND },
	{ "vast", 429, "{\"detail\":\"API requests too frequent endpoint threshold=4.5%s%s\"}", "", "", BERTH_ETHROTTLED },

	{ "digitalocean", 422, DROPLET, "unprocessable_entity", "size is not available in this region", BERTH_ECAPACITY },
	{ "digitalocean", 422, DROPLET, "unprocessable_entity", "will exceed your droplet limit", BERTH_EQUOTA },
	{ "digitalocean", 422, DROPLET, "unprocessable_entity", "Name is invalid", BERTH_EPERMANENT },
	{ "digitalocean", 429, DROPLET, "too_many_requests", "", BERTH_ETHROTTLED },
	{ "digitalocean", 401, DROPLET, "unauthorized", "", BERTH_EAUTH },
	{ "digitalocean", 401, DROPLET, "Unauthorized", "Unable to authenticate you", BERTH_EAUTH },

	{ "crusoe", 200, CRUSOE, "out_of_stock", "", BERTH_ECAPACITY },

	{ "openstack", 403, NOVA, "forbidden", "Quota exceeded for cores: Requested 8", BERTH_EQUOTA },
	{ "openstack", 403, NOVA, "forbidden", "Policy does not allow this", BERTH_EAUTH },
	{ "openstack", 413, NOVA, "overLimit", "", BERTH_ETHROTTLED },
	{ "openstack", 429, NOVA, "overLimit", "", BERTH_ETHROTTLED },
	{ "openstack", 400, NOVA, "badRequest", "", BERTH_EPERMANENT },
	{ "openstack", 404, NOVA, "itemNotFound", "", BERTH_ENOTFOUND },
	{ "openstack", 409, NOVA, "conflictingRequest", "", BERTH_EPERMANENT },
	{ "openstack", 406, NOVA, "computeFault", "", BERTH_EPERMANENT },
	{ "openstack", 401, NOVA, "error", "", BERTH_EAUTH },
	{ "openstack", 500, NOVA, "computeFault", "No valid host was found", BERTH_ECAPACITY },
	{ "openstack", 500, NOVA, "computeFault", "Exceeded maximum number of retries. Exhausted all hosts", BERTH_ECAPACITY },
	{ "openstack", 500, NOVA, "computeFault", "Exceeded maximum number of retries", BERTH_ECAPACITY },

	{ "slurm", 500, SLURM, "2014", "Requested node configuration is not available", BERTH_ECAPACITY },
	{ "slurm", 500, SLURM, "2017", "Invalid job id specified", BERTH_ENOTFOUND },
	{ "slurm", 500, SLURM, "2045", "Invalid account", BERTH_EAUTH },
	{ "slurm", 500, SLURM, "-1", "Unspecified error", BERTH_EAUTH },
	{ "slurm", 401, "Authentication failure%s%s", "", "", BERTH_EAUTH },

	{ "kubernetes", 403, STATUS, "Forbidden", "pods \\\"x\\\" is forbidden: exceeded quota: gpu", BERTH_EQUOTA },
	{ "kubernetes", 403, STATUS, "Forbidden", "User \\\"system:anonymous\\\" cannot create resource", BERTH_EAUTH },
	{ "kubernetes", 401, STATUS, "Unauthorized", "Unauthorized", BERTH_EAUTH },
	{ "kubernetes", 429, STATUS, "TooManyRequests", "", BERTH_ETHROTTLED },
	{ "kubernetes", 410, STATUS, "Expired", "", BERTH_ETRANSIENT },
	{ "kubernetes", 422, STATUS, "Invalid", "", BERTH_EPERMANENT },
	{ "kubernetes", 500, STATUS, "InternalError", "", BERTH_ETRANSIENT },
};

int
main(void)
{
	struct arena *a = arena_new();

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];
		const struct provider_ops *ops = provider_find(r->provider);
		struct http_resp resp = { .arena = a, .status = r->status, .body = r->shape };
		const char *at = strstr(r->shape, "%s"), *then = at != NULL ? strstr(at + 2, "%s") : NULL;
		struct prov_error e = { "", "" };

		if (then != NULL)
			resp.body = arena_printf(a, "%.*s%s%.*s%s%s", (int)(at - r->shape), r->shape, r->code, (int)(then - at - 2), at + 2,
			    r->text, then + 2);
		resp.body_len = strlen(resp.body);
		if (ops == NULL || !ops->error_read(&resp, &e))
			tap_ok(false, "%s: HTTP %d %s is no refusal", r->provider, r->status, resp.body);
		else
			tap_is_str(err_name(prov_classify(ops, &resp, &e, true, NULL)), err_name(r->want), "%s: HTTP %d %s %s", r->provider,
			    r->status, r->code, r->text);
	}
	arena_free(a);
	return tap_done();
}
