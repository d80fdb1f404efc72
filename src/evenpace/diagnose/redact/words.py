"""Words that identify nobody: parts of paths that every machine has, public packages, names that stay."""

from __future__ import annotations

import re
import sys
from functools import cache
from itertools import chain

from evenpace.diagnose.signature import Also, Pattern, signatures

_PLACES = """
usr opt lib lib32 lib64 libexec bin sbin etc var tmp dev proc sys run boot mnt media srv home homes users
root export shm share local include src source sources work workspace workspaces workdir wd build dist site
packages data dataset datasets scratch nfs nas lustre gpfs beegfs fsx efs weka ceph project projects proj
code codes repo repos git shared apps app software sw modules module env envs venv virtualenv conda
miniconda anaconda mambaforge miniforge micromamba mamba pkgs python pypy cpython etcd log logs cache caches
config configs conf cfg out output outputs result results runs exp experiment experiments model models
checkpoint checkpoints ckpt ckpts weights save saves saved snapshot snapshots artifact artifacts job jobs
script scripts tool tools example examples test tests doc docs raid nvme ssd hdd disk disks volume volumes
storage store archive backup container containers docker overlay kubelet pods pod secrets core cores crash
dump dumps traces trace profile profiles tensorboard wandb mlruns mlflow hydra ray session sessions nccl
cuda cudnn nvidia mellanox ofed infiniband class devices device driver drivers net bus pci kernel debug
parameters cgroup memory cpu cpuset slurm spool pbs sge lsf singularity apptainer enroot images image rootfs
merged layers diff mapper block fd self task status maps meminfo cpuinfo version stat limits hostfile hosts
machinefile persistenced topologyd fabricmanager toml runtime compat targets x86 linux gnu aarch64 amd64
noarch ubuntu debian centos rocky user ec2 admin nobody nonexistent null zero stdin stdout stderr error
reply err attempt attempts worker workers rank ranks node nodes host master head hf huggingface hub
transformers llama gpt bert raw processed tokenized tokens tokenizer vocab merges train training trainer
finetune finetuning pretrain pretraining sft rlhf dpo ppo grpo eval evaluate evaluation valid validation val
inference serve server client generate predict main engine launch launcher runner api base utils util common
helper helpers setup init entry entrypoint cli command commands ops op kernels nn layer optim optimizer
optimizers scheduler loss losses metrics metric callbacks callback loop loops strategies strategy plugins
plugin accelerators accelerator distributed parallel ddp fsdp pipe pipeline tensor sequence expert experts
moe attention rotary embedding flash fused csrc third party loader loaders dataloader sampler samplers
collate collator preprocess preprocessing tokenize index indexed shard shards part parts chunk chunks batch
batches epoch epochs step steps iter iteration iterations global mp dp tp pp ep cp zp bf16 fp16 fp32 rng
state states dict best last latest final temp temporary old new bak events tfevents metadata manifest readme
license requirements environment default prod staging release of to from in the a and or with for no
arguments args argument yaml json override resnet resnet50 imagenet cifar mnist coco wikitext c4 pile
openwebtext modeling configuration tokenization checkpointing initialize microbatches schedules mappings
random bld pytorch megatron native gpu real stage comm timer timers logging logger rerun machine manager it
s sec second seconds ms sample img token iters graph collectives functions function bindings backends nvtx
generic systemd system unit slice scope service proxy socket sockets monitor health check checks load resume
restore sync async writer reader convert import download upload prepare split merge make cmake python3 pip
usage report gateway router actor critic policy reward buffer agent game rollout mesh torchrun perf all
reduce gather scatter broadcast alltoall sendrecv mpirun srun sbatch nsys ncu accelerate venvs db www mail
login registry ldap ntp mirror cdn blob anon org bucket private cluster domain svc internal compute region
zone localdomain
"""
_PACKAGES = """
torch torchvision torchaudio torchtext torchdata torchtitan torchrec torchao functorch torchgen torchelastic
caffe2 c10 c10d aten ATen gloo tensorpipe nccl numpy scipy pandas pyarrow datasets transformers accelerate
deepspeed megatron apex flash_attn xformers triton bitsandbytes peft trl diffusers tokenizers safetensors
huggingface_hub lightning pytorch_lightning lightning_fabric lightning_utilities fairscale fairseq fairseq2
colossalai composer streaming mosaicml llmfoundry axolotl nanotron vllm sglang ray horovod mpi4py tensorflow
keras jax jaxlib flax optax optree haiku mxnet paddle paddlenlp tqdm yaml omegaconf hydra fire click typer
absl wandb mlflow tensorboard tensorboardX requests urllib3 aiohttp httpx s3fs boto3 botocore fsspec gcsfs
smart_open webdataset timm detectron2 mmcv mmdet mmengine mmseg cv2 PIL skimage sklearn matplotlib networkx
sympy numba cupy dask pip setuptools wheel pkg_resources importlib_metadata packaging psutil pynvml py3nvml
nvidia gpustat submitit joblib cloudpickle dill multiprocess protobuf google grpc opentelemetry
prometheus_client pydantic pydantic_core fastapi starlette uvicorn openai sentencepiece tiktoken nltk spacy
gensim librosa soundfile espnet espnet2 wenet speechbrain nemo nemo_toolkit transformer_engine te modelopt
tensorrt tensorrt_llm onnx onnxruntime evaluate lm_eval einops rotary_embedding_torch verl openrlhf unsloth
llamafactory swift ms_swift returnn evenpace pytest IPython ipykernel traitlets jupyter notebook loguru rich
hivemind petals bmtrain oslo dgl torch_geometric e3nn ignite catalyst monai nnunet nnunetv2 kornia
albumentations decord av lmdb h5py zarr tables xgboost lightgbm catboost _pytest yarl multidict filelock
fuse dateutil six attr attrs jinja2 markupsafe certifi idna charset_normalizer
"""
_KEPT_HOSTS = """
localhost localhost4 localhost6 localhost.localdomain ip6-localhost broadcasthost host hosts hostname node
nodes master head worker server client none null nil na unknown undefined default local remote self all any
here there node0 node1 master0 kubernetes kubelet docker docker0 container pod job main true false yes no on
off
"""
_KEPT_USERS = """
root user users admin administrator ubuntu ec2-user centos rocky debian nobody docker git slurm munge pdsh
kubernetes system daemon default none null unknown self me you owner name public shared data home conda
jovyan opc azureuser vagrant nvidia ray mpiuser runner app true false yes no code
"""
_PUBLIC_HOSTS = """
pytorch.org docs.pytorch.org download.pytorch.org discuss.pytorch.org dev-discuss.pytorch.org
docs.nvidia.com developer.nvidia.com developer.download.nvidia.com forums.developer.nvidia.com
nvidia.github.io docs.python.org numpy.org docs.ray.io docs.vllm.ai
slurm.schedmd.com kubernetes.io www.deepspeed.ai deepspeed.readthedocs.io lightning.ai
pytorch-lightning.readthedocs.io www.open-mpi.org help.open-mpi.org openucx.readthedocs.io stackoverflow.com
docs.docker.com www.kernel.org bugzilla.kernel.org docs.wandb.ai conda.io docs.conda.io www.tensorflow.org
tensorflow.org jax.readthedocs.io docs.aws.amazon.com cloud.google.com learn.microsoft.com aka.ms goo.gl
arxiv.org www.gnu.org json-schema.org www.w3.org hydra.cc omegaconf.readthedocs.io
"""
_SERVICES = """
github.com raw.githubusercontent.com gitlab.com huggingface.co hf.co wandb.ai api.wandb.ai
nvcr.io docker.io quay.io ghcr.io gcr.io registry.k8s.io k8s.gcr.io public.ecr.aws hub.docker.com
s3.amazonaws.com storage.googleapis.com conda.anaconda.org repo.anaconda.com nvidia.com amazonaws.com
"""
_OWNERS = """
pytorch nvidia huggingface microsoft deepspeedai lightning-ai ray-project vllm-project sgl-project google
openai facebookresearch meta-llama mistralai qwen deepseek-ai eleutherai bigscience-workshop databricks
mosaicml hpcaitech open-mpi openucx kubernetes python numpy triton-lang dao-ailab state-spaces tatsu-lab
bigcode tiiuae stabilityai library nvidia-merlin
"""
_LOGGED = """
the a an of to in on at is are was were be been not no yes and or if for from with by as it this that may
max min mean avg sum std var all any none true false null will can mark grant bill rank ranks host hosts
node time date step loss epoch iter iteration batch size world group process pid tid gpu cpu cuda nccl error
errors warning info debug fatal critical exception failed failure timeout memory device devices driver model
data train test eval run job task worker main thread file line module function call name key value token
tokens lr grad norm scale elapsed samples throughput speed learning rate global local master port address
addr killed signal exit code core dumped out bus kernel slurm srun torch python root user new old first last
start end begin done ok fail pass read write open close send recv connect socket reset peer link up down
state status version type index id uid gid op seq work ep mem ram disk free used total rss vm swap lock wait
sleep stop kill term int hup abort trap check
"""

KEPT_HOSTS = frozenset(_KEPT_HOSTS.split())
KEPT_USERS = frozenset(_KEPT_USERS.split())
PUBLIC_HOSTS = frozenset(_PUBLIC_HOSTS.split())
SERVICES = frozenset(_SERVICES.split())
OWNERS = frozenset(_OWNERS.split())
PACKAGES = frozenset(_PACKAGES.split()) | frozenset(sys.stdlib_module_names)
WORDS = frozenset(word.lower() for word in chain(_PLACES.split(), _PACKAGES.split())) | frozenset("abcdexv")
EXTENSIONS = (
    "py|pyc|pyx|ipynb|sh|bash|zsh|slurm|sbatch|pbs|yaml|yml|json|jsonl|toml|ini|cfg|conf|log|txt|out|err|csv|tsv"
    "|pt|pth|ckpt|bin|safetensors|distcp|npy|npz|pkl|parquet|arrow|tar|gz|zst|zip|tgz|bz2|xz|h5|hdf5|tfrecord|lmdb"
    "|mds|idx|wav|flac|mp3|mp4|jpg|jpeg|png|tif|tiff|webp|xml|html|md|env|pem|key|crt|so|whl|sif|sqsh|img|db|sqlite"
    "|cc|cpp|cxx|c|h|hpp|cu|cuh|rs|go|sock|pid|lock|tmp|bak|hdr|onnx|plan|engine|model|vocab|spm"
)
_LETTERS = re.compile(r"[A-Za-z]{1,64}")
_FOREIGN = re.compile(r"[^\x00-\x7f]")
_TOKEN = re.compile(r"[A-Za-z][A-Za-z0-9_\-]{1,40}")


def is_common(component: str) -> bool:
    """Tell whether a part of a path is one that many machines have: known words and numbers only."""
    if _FOREIGN.search(component):
        return False
    if component in PACKAGES:
        return True
    return all(word.lower() in WORDS for word in _LETTERS.findall(component)) and len(component) <= 64


@cache
def vital() -> frozenset[str]:
    """Return the words that diagnosis searches for: never replaced just because somebody is called so."""
    patterns: list[Pattern | Also] = []
    for one in signatures().values():
        patterns += [*one.content.match, *one.content.also]
    found = {token.lower() for pattern in patterns for token in _TOKEN.findall(pattern.pattern)}
    return frozenset(found).union(_LOGGED.split())
