from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenpace.diagnose.formats import iterations_columns, iterations_places


def read(text):
    said = iterations_columns.read(text)
    assert said is not None, text
    place, columns = said
    return place.step, {name: value for name, _, value in columns}


LINES = [
    (
        " [2025-01-02 03:04:05] iteration     120/    5000 | consumed samples:        30720 | "
        "elapsed time per "
        "iteration (ms): 812.5 | throughput per GPU (TFLOP/s/GPU): 401.2 | learning rate: 3.0E-04 "
        "| global batch "
        "size:   256 | lm loss: 4.120000E+00 | loss scale: 1.0 | grad norm: 0.912 | number of "
        "skipped iterations: "
        "  0 | number of nan iterations:   0 |",
        120,
        {"iteration-seconds": 0.8125, "tflops": 401.2, "loss": 4.12, "grad-norm": 0.912, "loss-scale": 1.0},
    ),
    (
        " iteration      77/    900 | elapsed time per iteration (s): 12.50 | lm loss: nan | "
        "samples per second: "
        "81.92 | TFLOPs: 133.10 |",
        77,
        {"iteration-seconds": 12.5, "loss": math.nan, "samples-per-second": 81.92, "tflops": 133.1},
    ),
    (
        "steps: 10 loss: 2.5012 iter time (s): 1.250 samples/sec: 204.800",
        10,
        {"loss": 2.5012, "iteration-seconds": 1.25, "samples-per-second": 204.8},
    ),
    (
        "[2024-05-05 10:00:00,000] [INFO] [timer.py:260:stop] epoch=0/micro_step=40/global_step=40, "
        "RunningAvgSamplesPerSec=91.2, CurrSamplesPerSec=88.1, MemAllocated=20.1GB, MaxMemAllocated=30.2GB",
        40,
        {"samples-per-second": 88.1},
    ),
    (
        "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768",
        None,
        {"loss-scale": 32768.0},
    ),
    (
        "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 16384.0",
        None,
        {"loss-scale": 16384.0},
    ),
    ("  5%|▌         | 40/800 [02:00<38:00,  3.00s/it]", 40, {"iteration-seconds": 3.0}),
    (
        " 12%|█▏        | 96/800 [00:12<01:28,  8.00it/s, loss=0.51]",
        96,
        {"iteration-seconds": 0.125, "loss": 0.51},
    ),
    (
        "Epoch 2:  50%|█████     | 50/100 [00:25<00:25,  2.00it/s, v_num=3, train_loss=1.5]",
        250,
        {"loss": 1.5},
    ),
    (
        "1|31|Loss: 1.2034: 100%|██████████| 31/31 [02:10<00:00,  4.20s/it]",
        31,
        {"loss": 1.2034, "iteration-seconds": 4.2},
    ),
    (
        "{'loss': 1.25, 'grad_norm': 0.5, 'learning_rate': 1e-05, 'epoch': 0.4}",
        None,
        {"loss": 1.25, "grad-norm": 0.5},
    ),
    ("{'loss': 0.0, 'grad_norm': nan, 'epoch': 0.4}", None, {"loss": 0.0, "grad-norm": math.nan}),
    (
        "[INFO|DP=0|PP=0|TP=0|n1]: iteration: 10 / 1000 | consumed_tokens: 1.2M | "
        "elapsed_time_per_iteration_ms: "
        "1.15K | tokens_per_sec: 3.64K | tokens_per_sec_per_gpu: 1.82K | global_batch_size: 16 | "
        "lm_loss: 9.8 | "
        "lr: 0.0003 | model_tflops_per_gpu: 41.2 | hardware_tflops_per_gpu: 41.2 | grad_norm: 1.5",
        10,
        {
            "iteration-seconds": 1.15,
            "tokens-per-second": 3640.0,
            "loss": 9.8,
            "tflops": 41.2,
            "grad-norm": 1.5,
        },
    ),
    (
        "[rank0]:[titan] 2025-01-01 00:00:00,000 - root - INFO - step: 10  loss:  4.1006  "
        "grad_norm:  1.9  memory: "
        "40.33GiB(42.46%)  tps: 13,600  tflops: 300.20  mfu: 30.35%",
        10,
        {"loss": 4.1006, "grad-norm": 1.9, "tokens-per-second": 13600.0, "tflops": 300.2},
    ),
    (
        "Training epoch 0, iteration 9/99 | lr: 1e-4 | global_batch_size: 8 | global_step: 9 | "
        "reduced_train_loss: 7.5 | train_step_timing in s: 2.25",
        9,
        {"loss": 7.5, "iteration-seconds": 2.25},
    ),
    (
        "Epoch: [3][ 50/100]\tTime  0.873 ( 0.881)\tData  0.005 ( 0.017)\tLoss 6.8977e+00 "
        "(6.9e+00)\tAcc@1  0.00",
        350,
        {"iteration-seconds": 0.873, "data-seconds": 0.005, "loss": 6.8977},
    ),
    (
        "Epoch: [1]  [ 20/200]  eta: 0:03:00  lr: 0.01  loss: 0.71 (0.80)  time: 0.9229 (0.9305)  "
        "data: 0.0121",
        220,
        {"iteration-seconds": 0.9229, "data-seconds": 0.0121, "loss": 0.71},
    ),
    (
        "Train: 0 [  50/1251 (  4%)]  Loss: 6.95 (6.95)  Time: 0.345s, 741.22/s  (0.4s, 640/s)  LR: 1.0e-05  "
        "Data: 0.011 (0.02)",
        50,
        {"iteration-seconds": 0.345, "data-seconds": 0.011, "loss": 6.95},
    ),
    (
        "2024-01-01,00:00:00 | INFO | Train Epoch: 0 [  512/9136 (1%)] Data (t): 1.630 Batch (t): 4.802, "
        "106.6/s, 106.6/s/gpu LR: 0.000001 Logit Scale: 14.286 Loss: 6.2104 (6.2104)",
        512,
        {"data-seconds": 1.63, "iteration-seconds": 4.802, "samples-per-second": 106.6, "loss": 6.2104},
    ),
    (
        "2022-04-09 23:58:10,440 - mmdet - INFO - Epoch [7][450/1000]\tlr: 2.0e-02, eta: 11:02:18, "
        "time: 0.988, "
        "data_time: 0.012, memory: 9021, loss: 0.7120",
        7450,
        {"iteration-seconds": 0.988, "data-seconds": 0.012, "loss": 0.712},
    ),
    (
        "Epoch(train)  [1][ 50/100]  lr: 1e-02  eta: 0:10:00  time: 0.51  data_time: 0.08  memory: "
        "99  loss: 1.1",
        150,
        {"iteration-seconds": 0.51, "data-seconds": 0.08, "loss": 1.1},
    ),
    (
        "[01/01 00:00:00 d2.utils.events]:  eta: 1:00:00  iter: 19  total_loss: 2.5  loss_cls: 1.2 "
        " time: 0.4521  "
        "last_time: 0.44  data_time: 0.0121  last_data_time: 0.01  lr: 0.0002",
        19,
        {"iteration-seconds": 0.4521, "data-seconds": 0.0121, "loss": 2.5},
    ),
    (
        "2023-01-01 | INFO | train_inner | epoch 001: 100 / 2000 loss=9.1, ppl=500, wps=27000, "
        "ups=2, wpb=13000, "
        "bsz=400, num_updates=100, lr=1e-5, gnorm=1.2, loss_scale=8, train_wall=50",
        100,
        {
            "loss": 9.1,
            "tokens-per-second": 27000.0,
            "iteration-seconds": 0.5,
            "grad-norm": 1.2,
            "loss-scale": 8.0,
        },
    ),
    ("iter 100: loss 3.2000, time 250.10ms, mfu 17.20%", 100, {"loss": 3.2, "iteration-seconds": 0.2501}),
    (
        "step 20,380 loss 2.19 lr 1.9e-04 grad_norm 0.67 tok/s 88,864",
        20380,
        {"loss": 2.19, "grad-norm": 0.67, "tokens-per-second": 88864.0},
    ),
    ("step 7 | loss 2.19 | 1.2k tok/s", 7, {"loss": 2.19, "tokens-per-second": 1200.0}),
    ("step   12/19073 | loss 9.1 | norm 2.1 | dt: 250.00ms | tok/sec: 523000.5", 12, None),
    ("ep 42 train, step 8112, ce 0.418, 0.865 sec/step", 8112, {"iteration-seconds": 0.865}),
    (
        "Decode batch. #running-req: 16, gen throughput (token/s): 41.27, #queue-req: 0",
        None,
        {"served-tokens-per-second": 41.27},
    ),
    (
        "INFO 01-01 metrics.py:345] Avg prompt throughput: 12.0 tokens/s, Avg generation throughput: 410.2 "
        "tokens/s, Running: 9 reqs",
        None,
        {"served-tokens-per-second": 410.2},
    ),
]


@pytest.mark.parametrize(("text", "step", "columns"), LINES, ids=lambda value: str(value)[:24])
def test_lines_of_trainers(text, step, columns):
    found_step, found = read(text)
    assert found_step == step
    if columns is not None:
        assert found == pytest.approx(columns, nan_ok=True)


@pytest.mark.parametrize(
    "text",
    [
        "Loading checkpoint shards: 100%|██████████| 30/30 [02:31<00:00,  5.05s/it]",
        "Map (num_proc=8):  10%|█         | 100/1000 [00:01<00:09, 100.00 examples/s]",
        "Validating:  10%|█         | 10/100 [00:01<00:09, 10.00it/s]",
        "  0%|          | 0/1580 [00:00<?, ?it/s]",
        "# Epoch: [0][ 100/2502]  Time  0.873 ( 0.881)",
        '  File "train.py", line 41, in train_step',
        " validation loss at iteration 1000 | lm loss value: 2.312E+00 | lm loss PPL: 1.0E+01 |",
        "Test: [ 10/196]\tTime  0.873 ( 0.881)\tLoss 6.8977e+00",
        "{'eval_loss': 1.25, 'eval_runtime': 12.0, 'epoch': 1.0}",
        "slurmstepd: error: *** STEP 71902.0 ON gpu-c-11 CANCELLED AT 2023-02-27T11:30:44 ***",
        "caught SIGTERM, saving checkpoint at step 20480 ...",
    ],
)
def test_other_lines_have_no_columns(text):
    said = iterations_columns.read(text)
    assert said is None or not said[1]


@settings(deadline=None, max_examples=300)
@given(st.text(max_size=400), st.sampled_from([text for text, *_ in LINES]), st.integers(0, 200))
def test_no_text_breaks_it(noise, line, at):
    for text in (noise, line[:at] + noise + line[at:], line[at:], line[:at]):
        if said := iterations_columns.read(text):
            names = [name for name, _, value in said[1] if isinstance(value, float)]
            assert len(names) == len(set(names)) <= 9


@settings(deadline=None, max_examples=300)
@given(st.sampled_from([text for text, *_ in LINES]), st.lists(st.integers(0, 9), min_size=400, max_size=400))
def test_where_numbers_stand_does_not_depend_on_their_digits(line, digits):
    other = "".join(str(digits[at % 400]) if letter.isdecimal() else letter for at, letter in enumerate(line))
    zeros = "".join("0" if letter.isdecimal() else letter for letter in line)
    spots = {iterations_places.spot_in(text) for text in (line, other, zeros)}
    assert len(spots) == 1
